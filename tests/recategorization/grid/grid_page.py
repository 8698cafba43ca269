"""A page with the grid of a review and nothing else: the browser is real, and so is the record that answers it."""

import base64
import json

from accounting_analytics.recategorization.review import ReviewWidget

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Review</title>
<style>:root {{ color-scheme: light dark }} body {{ font: 13px sans-serif }}</style><main id="place"></main>
<style>{css}</style><script type="module">
const bytes = (text) => new DataView(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer);
const state = {state};
for (const name of {binary}) state[name] = bytes(state[name]);
const listeners = [];
window.sent = [];
window.model = {{
  get: (name) => state[name], set: (name, value) => {{ state[name] = value; }},
  on: (name, listener) => listeners.push([name, listener]), save_changes: () => {{ window.saved = state._view; }},
  send: (content) => window.sent.push(content),
}};
const hear = (event, content) => listeners.forEach(([name, listener]) => name === event && listener(content));
window.receive = (content) => hear("msg:custom", content);
window.change = (chosen, changed) => {{
  Object.assign(state, {{ _chosen: bytes(chosen), _state: changed }});
  hear("change:_state");
}};
const script = {script};
const grid = (await import(URL.createObjectURL(new Blob([script], {{ type: "text/javascript" }})))).default;
window.show = (place) => grid.render({{ model, el: place }});
const began = performance.now();
show(document.getElementById("place"));
window.shownAfter = performance.now() - began;
</script></html>"""
GRID = "document.querySelector('.accounting-analytics-review')"


def _base64(value):
    return base64.b64encode(value).decode()


class GridPage:
    """The grid of a review in a browser."""

    def __init__(self, browser, folder, review):
        self.browser, self._file = browser, folder / "grid.html"
        self.widget = ReviewWidget(review)
        self.widget.send = lambda content: self.browser.evaluate(f"window.receive({json.dumps(content)})")
        self.widget.observe(self._change, "_state")

    def open(self, **options):
        """Load the page, as it is now, in a window of a size."""
        state = {name: value for name, value in self.widget.get_state().items() if name.startswith("_")}
        binary = [name for name, value in state.items() if isinstance(value, bytes)]
        state |= {name: _base64(state[name]) for name in binary}
        script, css = (state.pop(name) for name in ("_esm", "_css"))
        texts = {"state": state, "binary": binary, "script": script}
        page = PAGE.format(css=css, **{name: json.dumps(one).replace("<", "\\u003c") for name, one in texts.items()})
        self._file.write_text(page, encoding="utf-8")
        self.browser.open(self._file.as_uri(), **options)
        self.browser.wait_until("window.shownAfter")
        self.answer()

    def answer(self):
        """Do what the page asked for since the last call, until it asks for nothing more."""
        while asked := self.browser.evaluate("window.sent.splice(0)"):
            for content in asked:
                self.widget._handle_custom_msg(content, [])
        return self.texts(".status")[0]

    def _change(self, _):
        chosen, state = _base64(self.widget._chosen), self.widget._state
        self.browser.evaluate(f"window.change({json.dumps(chosen)}, {json.dumps(state)})")

    def element(self, selector, text="", number=0):
        """Return an expression of an element whose text contains a text."""
        found = f"[...{GRID}.querySelectorAll({json.dumps(selector)})]"
        return f"{found}.filter(one => one.innerText.includes({json.dumps(text)}))[{number}]"

    def texts(self, selector):
        return self.browser.evaluate(f"[...{GRID}.querySelectorAll({json.dumps(selector)})].map(one => one.innerText)")

    def click(self, selector, text="", *, part="", modifiers=0):
        """Click an element, or a part of it, and answer what the page asks for."""
        found = self.element(selector, text) + (f".querySelector({json.dumps(part)})" if part else "")
        self.browser.click(found, modifiers)
        return self.answer()

    def press(self, keys):
        """Press a key and answer what the page asks for."""
        self.browser.press(keys)
        return self.answer()

    def type(self, text):
        self.browser.type(text)
        return self.answer()

    def rows(self):
        """Return the texts of the rows in sight."""
        return [text.split("\n") for text in self.texts(".body .row")]
