//go:build !linux

package isolate

import (
	"runtime/debug"
	"time"
)

// maxStack is the maximum size of a stack of a child.
const maxStack = 64 << 20

// confine sets the bounds that the Go runtime has.
func confine(s setup) (missing []string, err error) {
	debug.SetMemoryLimit(s.Memory)
	debug.SetMaxStack(maxStack)
	return []string{"every measure of Linux"}, nil
}

func allowTime(time.Duration) {}
