#!/bin/bash
# Cargo as the readers of documents have it in tests. What they build for `--release` is built as tests are, with all features of
# the workspace, which is there already; an optimised build would take longer than everything else.
set -euo pipefail

if [[ " $* " != *" --release "* ]]; then
  cd "$PROJECT"
  export REAR_TESTBED_CACHE="$SERVERS"
  exec "$CARGO_ITSELF" "$@"
fi

verb=$1 package="" example="" arguments=()
shift
while (($#)); do
  case $1 in
    --release | --quiet) ;;
    -p | --package) package=$2; shift ;;
    --features) shift ;;
    --example) example=$2; shift ;;
    --) shift; arguments=("$@"); break ;;
    *) echo "error: this cargo does not know $1" >&2; exit 64 ;;
  esac
  shift
done

if [[ -n $example ]]; then
  program=$PROGRAMS/examples/$example what=(--example "$example")
else
  # With any example, cargo chooses the features of dependencies as it does for tests.
  program=$PROGRAMS/$package what=(--bin "$package" --example place)
fi
(cd "$PROJECT" && "$CARGO_ITSELF" build --locked --quiet --profile test --all-features "${what[@]}")
case $verb in
  build) ;;
  run) exec "$program" "${arguments[@]}" ;;
  *) echo "error: this cargo does not know $verb" >&2; exit 64 ;;
esac
