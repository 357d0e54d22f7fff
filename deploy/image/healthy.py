"""Whether JupyterLab and the page answer: the image's health check."""

import ssl
import sys
import urllib.error
import urllib.request

context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # it asks itself
for url in ("https://127.0.0.1:9700/healthz", "https://127.0.0.1:8888/api"):
    try:
        urllib.request.urlopen(url, timeout=5, context=context).close()
    except (OSError, urllib.error.URLError) as trouble:
        sys.exit(f"{url}: {trouble}")
