// Command image builds the operator's image without a container engine and without a registry. The result is an OCI
// image layout with an image for each platform, and with a software bill of materials in SPDX for each image. The same
// source, version, time and Go version lead to the same bytes.
//
//	go run . -program ../../cmd/fairlead-operator -version v1.2.3 -output ../../bin/image
//
// "make image" runs this command.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// The exit codes of failures.
const (
	exitFailed   = 1
	exitBadUsage = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "image: %v; -help lists the flags\n", err)
		return exitBadUsage
	}
	digest, err := build(ctx, o, stderr)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "image: %v\n", err)
		return exitFailed
	}
	_, _ = fmt.Fprintf(stdout, "%s: %s@%s\n", o.output, o.version, digest)
	return 0
}

// options are the values of the flags.
type options struct {
	// program is the folder of the main package. output is the folder of the layout, which replaces an older layout.
	program, output string
	// version is the tag of the image, and the version that the program reports.
	version, revision string
	platforms         []v1.Platform
	// created is the time of the image and of all files in it.
	created time.Time
}

func parseOptions(args []string, help io.Writer) (options, error) {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	program := flags.String("program", "", "folder of the program's main package")
	output := flags.String("output", "", "folder of the OCI image layout; an existing layout is replaced")
	version := flags.String("version", "dev", "version of the program, and tag of the image")
	revision := flags.String("revision", "", "commit from which the image is built")
	platforms := flags.String("platforms", "linux/amd64,linux/arm64", "platforms of the image")
	epoch := flags.Int64("epoch", 0, "time of the image and of all files in it, in seconds since 1970")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(help)
		flags.Usage()
		return options{}, err
	}
	if err != nil {
		return options{}, err
	}
	o := options{
		program:  *program,
		output:   *output,
		version:  *version,
		revision: *revision,
		created:  time.Unix(*epoch, 0).UTC(),
	}
	var problems []error
	if flags.NArg() > 0 {
		problems = append(problems, fmt.Errorf("unexpected argument %q", flags.Arg(0)))
	}
	if o.program == "" || o.output == "" {
		problems = append(problems, errors.New("-program and -output must be given"))
	}
	if *epoch < 0 {
		problems = append(problems, fmt.Errorf("-epoch: %d is before 1970", *epoch))
	}
	o.platforms, err = parsePlatforms(*platforms)
	return o, errors.Join(append(problems, err)...)
}

func parsePlatforms(list string) (platforms []v1.Platform, err error) {
	var problems []error
	for name := range strings.SplitSeq(list, ",") {
		platform, err := v1.ParsePlatform(name)
		if err != nil || platform.OS == "" || platform.Architecture == "" || platform.Variant != "" ||
			platform.OSVersion != "" {
			problems = append(
				problems,
				fmt.Errorf("-platforms: %q is not a platform; want a list such as linux/amd64,linux/arm64", name),
			)
			continue
		}
		platforms = append(platforms, *platform)
	}
	return platforms, errors.Join(problems...)
}
