// Package generatortest tests generators: Check finds where a generator does not do what a reconciler relies on,
// Golden compares what it renders with files, and Lookup stands in for a cluster.
//
// A case of Golden is a folder:
//
//	input/           the source
//	request.yaml     the request, see Request; may be missing
//	expected.yaml    the dependents, in the order in which the generator returns them; or
//	expected.txt     the error
//
// Run the tests with -update to write what is expected anew, and review the difference.
package generatortest
