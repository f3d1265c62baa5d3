package fieldpath

import (
	"errors"
	"fmt"
	"strings"
)

// CheckIgnored returns an error if a path leads to a field by which the reconciler or the API server identifies the
// object, or that decides about its deletion.
func CheckIgnored(reconciler string, path Path) error {
	fail := func(reason string) error { return fmt.Errorf("path %q: %s", path, reason) }
	names := path.Names()
	top := ""
	if len(names) > 0 {
		top = names[0]
	}
	switch {
	case top == "apiVersion", top == "kind":
		return fail("it identifies the object, so it cannot be ignored")
	case top == "status" && path.Len() == 1:
		return fail("the status belongs to the controller of the object, and is never applied")
	case top != "metadata":
		return nil
	case len(names) < 2:
		return fail("metadata identifies the object; only labels and annotations in it can be ignored, one by one")
	case names[1] != "labels" && names[1] != "annotations":
		return fail("of metadata only labels and annotations can be ignored, because other fields identify the object " +
			"or decide about its deletion")
	case len(names) < 3:
		return fail(fmt.Sprintf("name the %s one by one, such as metadata.%s[\"example.com/size\"], because some of them "+
			"identify the object", names[1], names[1]))
	case strings.HasPrefix(names[2], reconciler+"/"):
		return fail("the labels and annotations of the reconciler cannot be ignored")
	}
	return nil
}

// ParseIgnored parses the value of an annotation. The returned error joins the errors of all paths.
func ParseIgnored(reconciler, text string) ([]Path, error) {
	paths, err := ParseList(text)
	errs := []error{err}
	for _, path := range paths {
		errs = append(errs, CheckIgnored(reconciler, path))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return paths, nil
}
