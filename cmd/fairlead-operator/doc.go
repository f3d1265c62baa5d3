// Command fairlead-operator reconciles Components.
//
// The program parses its flags, divides its memory between child processes and other work, and sets up the manager, the
// leader election, metrics, tracing, and the endpoint for signed calls. The reconciler is in internal/operator. The
// same program is its own child process, which renders (see isolate.Main).
package main
