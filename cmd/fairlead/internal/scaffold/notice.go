package scaffold

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// DefaultLicense is the license of --spdx-license-headers without a value.
const DefaultLicense = "Apache-2.0"

// headerFile contains the header of Go files, for the tools that generate code.
const headerFile = "hack/boilerplate.go.txt"

// Notice is the copyright and the license of a project.
type Notice struct {
	// Owner is the owner of the copyright. A user or team of the forge, such as @example/platform, is also the code owner.
	Owner string `json:"owner,omitempty"`
	// License is a license expression of SPDX, such as Apache-2.0. If it is set, headers have the form of SPDX.
	License string `json:"license,omitempty"`
}

// Header returns the comment at the beginning of each Go file, without a line feed at its end. It is empty without an
// owner and a license. It has no year, so that an update of the project does not change it.
func (n Notice) Header() string {
	switch {
	case n.License == "" && n.Owner == "":
		return ""
	case n.License == "":
		return "// Copyright " + n.Owner
	case n.Owner == "":
		return "// SPDX-License-Identifier: " + n.License
	}
	return "// SPDX-FileCopyrightText: " + n.Owner + "\n//\n// SPDX-License-Identifier: " + n.License
}

// HeaderFile returns the path of the file with the header, or an empty text for a project without headers.
func (n Notice) HeaderFile() string {
	if n.Header() == "" {
		return ""
	}
	return headerFile
}

const maxOwnerLength = 200

var (
	codeOwner         = regexp.MustCompile(`^@[A-Za-z0-9][A-Za-z0-9-]*(/[A-Za-z0-9._-]+)?$`)
	licenseExpression = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+-]*( (AND|OR|WITH) [A-Za-z0-9][A-Za-z0-9.+-]*)*$`)
)

func (n Notice) validateNotice() []error {
	var errs []error
	isPlain := strings.IndexFunc(n.Owner, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
	switch {
	case !isPlain || strings.TrimSpace(n.Owner) != n.Owner || len(n.Owner) > maxOwnerLength:
		errs = append(errs, fmt.Errorf("--owner %q: want one line of at most %d bytes, without spaces around it, such as "+
			"Example GmbH", n.Owner, maxOwnerLength))
	case strings.HasPrefix(n.Owner, "@") && !codeOwner.MatchString(n.Owner):
		errs = append(errs, fmt.Errorf("--owner %q: want a user or a team after the @, such as @example/platform", n.Owner))
	}
	if n.License != "" && !licenseExpression.MatchString(n.License) {
		errs = append(errs, fmt.Errorf("--spdx-license-headers=%q: want a license expression of SPDX, such as Apache-2.0 or "+
			"MIT OR Apache-2.0", n.License))
	}
	return errs
}

// noticeLayout returns the files about the copyright and the code owner.
func noticeLayout(n Notice) []entry {
	var entries []entry
	if n.HeaderFile() != "" {
		entries = append(entries, entry{headerFile, "notice/boilerplate.go.txt.tmpl"})
	}
	if strings.HasPrefix(n.Owner, "@") {
		entries = append(entries, entry{".github/CODEOWNERS", "notice/CODEOWNERS.tmpl"})
	}
	return entries
}
