"""Makes Nova's databases with Nova's migrations: ``python make_schema.py API CELL``.

A program of its own because Nova keeps its configuration in a global.
"""

from __future__ import annotations

import sys
import warnings


def main(api_url: str, cell_url: str) -> None:
    """Make both; the URLs are SQLAlchemy's."""
    warnings.simplefilter("ignore")
    import nova.conf
    from nova.db import migration
    from nova.db.api import api as api_database
    from nova.db.main import api as cell_database

    conf = nova.conf.CONF
    conf([], project="nova", default_config_files=[])
    conf.set_override("connection", api_url, "api_database")
    conf.set_override("connection", cell_url, "database")
    api_database.configure(conf)
    cell_database.configure(conf)
    migration.db_sync(database="api")
    migration.db_sync(database="main")


if __name__ == "__main__":
    main(*sys.argv[1:])
