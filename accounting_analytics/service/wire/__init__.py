"""What is sent and received: request and response models, JSON rendering, page tokens, stored values."""
