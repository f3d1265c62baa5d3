package isolate

import (
	"errors"
	"syscall"
)

// isBrokenPipe reports whether a message was written to a process that had ended.
func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
