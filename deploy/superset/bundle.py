"""Writes the bundle that Superset imports, with the connection string of the database to show:

python3 bundle.py "$(npx toncenter-etl reader)" ton.zip
"""

import json
import pathlib
import re
import sys
import zipfile

if len(sys.argv) != 3:
    sys.exit('usage: python3 bundle.py "$(npx toncenter-etl reader)" ton.zip')
url, target = sys.argv[1:]
folder = pathlib.Path(__file__).parent
with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as bundle:
    for path in sorted(folder.rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        if path.parent.name == "databases":
            # A text in JSON's quotes is one of YAML, too.
            text = re.sub(r"(?m)^sqlalchemy_uri: .*$", lambda _: f"sqlalchemy_uri: {json.dumps(url)}", text)
        bundle.writestr(f"superset/{path.relative_to(folder).as_posix()}", text)
