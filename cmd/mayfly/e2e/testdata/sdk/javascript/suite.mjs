// Runs every case, or those named, against the servers named by the environment.

import "./administration.mjs";
import "./errors.mjs";
import "./messages.mjs";
import "./places.mjs";
import "./sessions.mjs";
import "./settling.mjs";
import { run } from "./harness.mjs";

await run(process.argv.slice(2));
