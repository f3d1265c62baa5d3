package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// versionVariable is the Go variable with the version of the program.
const versionVariable = "github.com/fairlead-io/fairlead/internal/version.Version"

// compiled is a program for one platform.
type compiled struct {
	platform v1.Platform
	name     string
	content  []byte
	info     *buildinfo.BuildInfo
}

// compile builds a static program. The program contains no path, no time and no state of the checkout, so that builds
// on different machines have the same result.
func compile(ctx context.Context, o options, platform v1.Platform) (compiled, error) {
	folder, err := os.MkdirTemp("", "image-")
	if err != nil {
		return compiled{}, err
	}
	defer func() { _ = os.RemoveAll(folder) }() // An error leaves only a temporary folder behind.
	source, err := filepath.Abs(o.program)
	if err != nil {
		return compiled{}, err
	}
	name := filepath.Base(source)
	file := filepath.Join(folder, name)
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -X "+versionVariable+"="+o.version, "-o", file, ".")
	command.Dir = source
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture, "GOFLAGS=")
	if output, err := command.CombinedOutput(); err != nil {
		return compiled{}, fmt.Errorf("go build for %s: %w\n%s", platform, err, output)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return compiled{}, err
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return compiled{}, fmt.Errorf("read the modules of %s: %w", name, err)
	}
	return compiled{platform: platform, name: name, content: content, info: info}, nil
}
