// Package reference makes the pages of docs/reference from the code: what is written about a constant, a field or a
// flag is written once. Tests write the pages where the flag -update-reference is set ("make generate"), and fail where
// they are not current ("make verify").
package reference
