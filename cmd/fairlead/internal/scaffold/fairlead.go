package scaffold

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/fairlead-io/fairlead/internal/version"
)

const (
	// replacedVersion is the version in go.mod if a checkout replaces the release.
	replacedVersion = "v0.0.0"
)

// Fairlead is the version of Fairlead that a project requires.
type Fairlead struct {
	Version string
	// Dir is the folder of a checkout that replaces the release. It is empty if the release is used.
	Dir string
}

// FindFairlead returns the version of Fairlead for a project. If dir is not empty, it is the checkout in dir. Otherwise
// it is the release of this program or, for a development build, the checkout from which the program was built.
func FindFairlead(dir string) (Fairlead, error) {
	if dir != "" {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return Fairlead{}, fmt.Errorf("--fairlead-dir: %w", err)
		}
		if err := checkCheckout(absolute); err != nil {
			return Fairlead{}, fmt.Errorf("--fairlead-dir %s: %w", dir, err)
		}
		return Fairlead{Version: replacedVersion, Dir: absolute}, nil
	}
	if release := releaseOf(version.Version); release != "" {
		return Fairlead{Version: release}, nil
	}
	if info, ok := debug.ReadBuildInfo(); ok && releaseOf(info.Main.Version) != "" {
		return Fairlead{Version: info.Main.Version}, nil
	}
	checkout, err := ownCheckout()
	if err != nil {
		return Fairlead{},
			fmt.Errorf("this is a development build, and its sources were not found (%w): name a checkout with --fairlead-dir",
				err)
	}
	return Fairlead{Version: replacedVersion, Dir: checkout}, nil
}

// releaseOf returns the version if it is a release that go.mod can require. It returns an empty text for builds between
// releases, and for builds with local changes.
func releaseOf(version string) string {
	if !semver.IsValid(version) || strings.HasSuffix(version, "-dirty") || semver.Build(version) != "" ||
		module.IsPseudoVersion(version) || strings.Contains(semver.Prerelease(version), "-g") {
		return ""
	}
	return version
}

// ownCheckout returns the checkout from which this program was compiled.
func ownCheckout() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return "", errors.New("the checkout of Fairlead is unknown: this program was built without source paths")
	}
	dir := filepath.Join(filepath.Dir(file), "..", "..", "..", "..")
	return dir, checkCheckout(dir)
}

func checkCheckout(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return fmt.Errorf("want the folder of a checkout of Fairlead: %w", err)
	}
	if found := modfile.ModulePath(text); found != version.Module {
		return fmt.Errorf("want the folder of a checkout of Fairlead; the folder contains the module %q", found)
	}
	return nil
}
