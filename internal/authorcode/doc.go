// Package authorcode calls code that is not ours: functions of authors, and libraries that panic on some inputs.
//
// It enforces one rule. A panic of such code is an error of the caller, with the name of the code, and never ends the
// process. No other package recovers from panics. The error has a constant text, because the texts of errors become
// messages of statuses. The stack of the panic is apart from the text, so that a caller can log it or leave it out.
package authorcode
