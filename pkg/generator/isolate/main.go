package isolate

import (
	"context"
	"os"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

// childArgument is the only argument of a child.
const childArgument = "render-child"

// The descriptors of a child. Both standard output and standard error are a log, so that a generator that prints does
// not disturb the messages.
const answersDescriptor = 3

// Main serves renderings if this process is a child, and does not return then. Otherwise Main does nothing. A program
// that uses New calls Main before everything else, because a child has no flags, no environment and no files.
//
// build returns the generator, and a scheme with the types of the components. The generator must render the same
// objects as the generator that is passed to New. A generator in a child cannot open files; an embed.FS is read as
// usual. A program that uses time zones imports time/tzdata.
func Main(build func() (generator.Generator, *runtime.Scheme, error)) {
	if len(os.Args) != 2 || os.Args[1] != childArgument {
		return
	}
	c, err := newChild(os.Stdin, os.NewFile(answersDescriptor, "answers"), build)
	if err == nil {
		err = c.serve(context.Background())
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Exit(0)
}
