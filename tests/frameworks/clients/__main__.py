"""Write clients.json, from which tools/docgen makes the table in docs/clients.md."""

import json

from frameworks.clients.runs import DATA, PROBES, run

if __name__ == "__main__":
    found = {name: run(probe) for name, probe in PROBES.items()}
    DATA.write_text(json.dumps(found, indent=1) + "\n")
    print(f"wrote {DATA}")
