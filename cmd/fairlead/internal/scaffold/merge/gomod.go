package merge

import (
	"golang.org/x/mod/modfile"

	"github.com/fairlead-io/fairlead/internal/version"
)

// mergeModule updates the versions of Fairlead and Go in a go.mod. It does not change other statements, which the go
// command and people maintain.
func mergeModule(mine, base, newer []byte) ([]byte, error) {
	files := make([]*modfile.File, 0, 3)
	for _, text := range [][]byte{mine, base, newer} {
		parsed, err := modfile.Parse("go.mod", text, nil)
		if err != nil {
			return nil, err
		}
		files = append(files, parsed)
	}
	own, previous, next := files[0], files[1], files[2]
	if required := requiredFairlead(next); required != requiredFairlead(previous) {
		if err := own.AddRequire(version.Module, required); err != nil {
			return nil, err
		}
	}
	if place := replacedFairlead(next); place != replacedFairlead(previous) {
		if err := replaceFairlead(own, place); err != nil {
			return nil, err
		}
	}
	if previous.Go != nil && next.Go != nil && previous.Go.Version != next.Go.Version {
		if err := own.AddGoStmt(next.Go.Version); err != nil {
			return nil, err
		}
	}
	own.Cleanup()
	return own.Format()
}

// replaceFairlead replaces Fairlead with a checkout, or removes the replacement if place is empty.
func replaceFairlead(file *modfile.File, place string) error {
	if err := file.DropReplace(version.Module, ""); err != nil || place == "" {
		return err
	}
	return file.AddReplace(version.Module, "", place, "")
}

func requiredFairlead(file *modfile.File) string {
	for _, requirement := range file.Require {
		if requirement.Mod.Path == version.Module {
			return requirement.Mod.Version
		}
	}
	return ""
}

func replacedFairlead(file *modfile.File) string {
	for _, replacement := range file.Replace {
		if replacement.Old.Path == version.Module {
			return replacement.New.Path
		}
	}
	return ""
}
