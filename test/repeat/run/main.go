// Command run is the program that go test -exec calls in CI: go test -exec bin/repeat. See package repeat.
package main

import (
	"os"

	"github.com/fairlead-io/fairlead/test/repeat"
)

func main() { os.Exit(repeat.Program(os.Args[1:], os.Stdout)) }
