// Package reference generates the pages of docs/reference from comments and schemas in the code, so that the
// description of a constant, a field or a flag is in a single place. The pages about the stability of features and
// about promises are made from lists in this folder. With the flag -update-reference, tests write the pages ("make
// generate"). Without the flag, the tests fail if the pages are not up to date ("make verify").
package reference
