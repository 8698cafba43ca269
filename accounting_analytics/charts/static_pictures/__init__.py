"""Pictures of charts that need no browser and no script: for pages, PDF files and mail."""

from accounting_analytics.charts.static_pictures.static_picture import PICTURE_STYLE, static_picture

__all__ = ["PICTURE_STYLE", "static_picture"]
