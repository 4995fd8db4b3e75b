"""A worker of `accord serve --workers`: `python -m accord.cli.worker DESCRIPTOR ARGUMENT...`."""

import sys

from accord.cli import serve
from accord.cli.main import end_in_time, parser_of, run_parsed
from accord.serve.http.worker import Worker


def run(descriptor: str, *arguments: str) -> int:
    """Serve as a worker, with the arguments of `accord serve`."""
    worker = Worker(int(descriptor))
    options = parser_of("serve").parse_args(arguments)
    code = run_parsed("serve", options, lambda options: serve.run_worker(options, worker))
    end_in_time(options.grace, code)
    return code


if __name__ == "__main__":
    sys.exit(run(*sys.argv[1:]))
