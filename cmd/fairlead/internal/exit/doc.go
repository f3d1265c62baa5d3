// Package exit classifies errors by the exit code of the program.
//
// The constructors Refuse, BadUsage, BadInput and Unasked return errors with a code. CodeOf derives the code of other
// errors from the response of the API server that they wrap.
//
// The code 1 is an answer: the condition is false, or the API server refused the change. A command that could not get
// an answer ends with 3, so that a script can tell the two apart. Commands return errors, and never end the process.
package exit
