package generator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
)

// Secret returns a value of the Secret with a name. The error, which names both, says that the Secret is not among the
// references, or that its value is missing or empty. If Secrets of several namespaces have the name, the result is that
// of the first namespace in alphabetical order.
func (r References) Secret(name, key string) (string, error) {
	found := r.secrets(func(s Reference) bool { return s.Name == name })
	if len(found) == 0 {
		return "", fmt.Errorf("Secret %s is not among the references; add it", name)
	}
	if value := r[found[0]][key]; len(value) > 0 {
		return string(value), nil
	}
	return "", fmt.Errorf("Secret %s has no value for the key %s; set it", name, key)
}

// OnlySecret returns the value of a key in the only Secret that has a value for it. So code need not know the name of
// the Secret. The error says that no Secret, or more than one, has a value for the key.
func (r References) OnlySecret(key string) (string, error) {
	found := r.secrets(func(s Reference) bool { return len(r[s][key]) > 0 })
	switch len(found) {
	case 0:
		return "", fmt.Errorf("no Secret among the references has a value for the key %s; add one", key)
	case 1:
		return string(r[found[0]][key]), nil
	}
	names := make([]string, len(found))
	for i, s := range found {
		names[i] = s.Name
	}
	return "", fmt.Errorf("the Secrets %s among the references have a value for the key %s; name only one of them",
		strings.Join(names, ", "), key)
}

// secrets returns the Secrets that match, in the order of their namespaces and names.
func (r References) secrets(match func(Reference) bool) []Reference {
	var found []Reference
	for reference := range r {
		if reference.Kind == metav1alpha1.SecretReference && match(reference) {
			found = append(found, reference)
		}
	}
	slices.SortFunc(found, func(a, b Reference) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return found
}
