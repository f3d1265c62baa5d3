// Package reference makes the pages of docs/reference from comments and schemas in the code, so that a constant, a
// field or a flag is described in one place. Tests that are run with the flag -update-reference write the pages ("make
// generate"). Without the flag, they fail if the pages are not up to date ("make verify").
package reference
