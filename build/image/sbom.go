package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

const (
	unstated = "NOASSERTION"
	// namespace is the prefix of the namespace of each document. The digest of the image follows, because the namespace
	// must be unique.
	namespace = "https://fairlead.io/spdx/"
)

// spdx returns the bill of materials of an image. It lists the program, and each Go module in the program with its
// version and its checksum in go.sum.
func spdx(o options, program compiled, image v1.Hash) ([]byte, error) {
	sum := sha256.Sum256(program.content)
	own := packageOf("program", program.name, o.version, program.info.Main.Path)
	own.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: hex.EncodeToString(sum[:])}}
	own.PrimaryPackagePurpose = "APPLICATION"
	document := &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName:      fmt.Sprintf("%s %s for %s", program.name, o.version, program.platform),
		DocumentNamespace: namespace + program.name + "/" + image.String(),
		CreationInfo: &v2_3.CreationInfo{
			Created:  o.created.Format(time.RFC3339),
			Creators: []common.Creator{{CreatorType: "Organization", Creator: "Fairlead"}},
		},
		Packages:      []*v2_3.Package{own},
		Relationships: []*v2_3.Relationship{relation("DOCUMENT", "DESCRIBES", own.PackageSPDXIdentifier)},
	}
	modules := append(
		[]*debug.Module{{Path: "stdlib", Version: strings.TrimPrefix(program.info.GoVersion, "go")}},
		program.info.Deps...)
	for i, module := range modules {
		if module.Replace != nil {
			module = module.Replace
		}
		p := packageOf(fmt.Sprintf("module-%d", i), module.Path, module.Version, module.Path)
		if module.Sum != "" {
			p.PackageComment = "go.sum: " + module.Sum
		}
		document.Packages = append(document.Packages, p)
		document.Relationships = append(
			document.Relationships,
			relation(own.PackageSPDXIdentifier, "DEPENDS_ON", p.PackageSPDXIdentifier),
		)
	}
	var content bytes.Buffer
	err := json.Write(document, &content, json.Indent(" "))
	return content.Bytes(), err
}

// packageOf describes a Go module. It makes no statement about the licence of the module.
func packageOf(id, name, version, module string) *v2_3.Package {
	return &v2_3.Package{
		PackageName:               name,
		PackageSPDXIdentifier:     common.ElementID(id),
		PackageVersion:            version,
		PackageDownloadLocation:   unstated,
		PackageLicenseConcluded:   unstated,
		PackageLicenseDeclared:    unstated,
		PackageCopyrightText:      unstated,
		IsFilesAnalyzedTagPresent: true,
		PackageExternalReferences: []*v2_3.PackageExternalReference{
			{
				Category: common.CategoryPackageManager,
				RefType:  common.TypePackageManagerPURL,
				Locator:  "pkg:golang/" + module + "@" + version,
			},
		},
	}
}

func relation(a common.ElementID, kind string, b common.ElementID) *v2_3.Relationship {
	return &v2_3.Relationship{
		RefA:         common.DocElementID{ElementRefID: a},
		Relationship: kind,
		RefB:         common.DocElementID{ElementRefID: b},
	}
}
