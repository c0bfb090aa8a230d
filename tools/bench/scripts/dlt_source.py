"""The same with dlt's REST source into Postgres, with the settings that are quickest for it.

usage: dlt_source.py API DATABASE FROM TO (unix seconds, TO is exclusive)
"""

import os
import sys
import tempfile

API, DATABASE, FROM, TO = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
os.environ.setdefault("RUNTIME__DLTHUB_TELEMETRY", "false")
os.environ["DATA_WRITER__DISABLE_COMPRESSION"] = "true"
os.environ["NORMALIZE__DATA_WRITER__DISABLE_COMPRESSION"] = "true"

import dlt  # noqa: E402
from dlt.sources.rest_api import rest_api_source  # noqa: E402

source = rest_api_source(
    {
        "client": {
            "base_url": f"{API}/api/v3/",
            "paginator": {"type": "offset", "limit": 1000, "total_path": None},
        },
        "resources": [
            {
                "name": "transactions",
                "write_disposition": "append",
                "endpoint": {
                    "path": "transactions",
                    "data_selector": "transactions",
                    "params": {"start_utime": FROM, "end_utime": TO - 1, "sort": "asc"},
                },
            }
        ],
    }
)
# Objects within a record stay JSON: tables of their own take several times as long.
source.max_table_nesting = 0
pipeline = dlt.pipeline(
    pipeline_name="versus",
    pipelines_dir=tempfile.mkdtemp(),
    destination=dlt.destinations.postgres(DATABASE),
    dataset_name="dlt_rows",
)
pipeline.run(source, loader_file_format="csv")
