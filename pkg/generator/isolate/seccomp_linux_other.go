//go:build linux && !amd64 && !arm64

package isolate

import "errors"

// filterCalls reports that there is no list of system calls for this processor.
func filterCalls() error { return errors.ErrUnsupported }
