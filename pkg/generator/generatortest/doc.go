// Package generatortest contains tests for generators. Check finds violations of the contract between generators and
// the reconciler. Golden compares rendered objects with files. Lookup is a fake cluster for look-ups.
//
// Golden runs a test case for each folder with these files:
//
//	input/           the source
//	request.yaml     the request, see Request; may be missing
//	expected.yaml    the dependents, in the order in which the generator returns them; or
//	expected.txt     the error
//
// Run the tests with the flag -update to write the expected files again, and review the changes.
package generatortest
