"""The template tags `{% page_script "js/pages/run-page.js" %}` and `{% page_styles "run chart" %}`."""

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from webapp.pages.packs.packs import digest_of, script_of, sheets_of, style_of

register = template.Library()


@register.simple_tag
def page_script(entry: str) -> SafeString:
    """A module of `frontend/` with all that it needs; it runs once the page has been read."""
    address = reverse("packs:script", args=[entry.removesuffix(".js")])
    return format_html('<script defer src="{}?v={}"></script>', address, digest_of(script_of(entry)))


@register.simple_tag
def page_styles(names: str, key: str = "") -> SafeString:
    """Style sheets of `frontend/styles`, by names with spaces between; `key` is the id of the element."""
    joined = "+".join(names.split())
    address = reverse("packs:styles", args=[joined])
    element_id = format_html(' id="{}"', key) if key else ""
    return format_html(
        '<link rel="stylesheet" href="{}?v={}"{}>', address, digest_of(style_of(sheets_of(joined))), element_id
    )
