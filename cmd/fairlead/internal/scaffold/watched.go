package scaffold

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// Watched is a kind of objects that are no dependents, and that components depend on.
type Watched struct {
	Group   string `json:"group,omitempty"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// GoName is the kind, and the first part of its group, as a part of a Go name. The core group adds nothing.
func (w Watched) GoName() string {
	group, _, _ := strings.Cut(w.Group, ".")
	for word := range strings.SplitSeq(group, "-") {
		if word != "" {
			group = strings.Replace(group, word, strings.ToUpper(word[:1])+word[1:], 1)
		}
	}
	return strings.ReplaceAll(group, "-", "") + w.Kind
}

// SourceName is the name of the event source for the kind: the kind, after the first part of its group.
func (w Watched) SourceName() string {
	group, _, _ := strings.Cut(w.Group, ".")
	return strings.TrimPrefix(group+"-"+strings.ToLower(w.Kind), "-")
}

// ParseWatched parses the value of a flag --watch: GROUP/KIND or GROUP/VERSION/KIND, and KIND for the core group. The
// version can be left out for kinds of Kubernetes.
func ParseWatched(text string) (Watched, error) {
	parts := strings.Split(text, "/")
	w := Watched{Kind: parts[len(parts)-1]}
	switch len(parts) {
	case 1:
	case 2:
		w.Group = parts[0]
	case 3:
		w.Group, w.Version = parts[0], parts[1]
	default:
		return w, fmt.Errorf("--watch %q: want GROUP/KIND or GROUP/VERSION/KIND, such as apps/Deployment", text)
	}
	if w.Group == "core" {
		w.Group = ""
	}
	if w.Version == "" {
		w.Version = versionOf(w.Group, w.Kind)
	}
	if w.Version == "" {
		return w, fmt.Errorf("--watch %q: this kind is not a kind of Kubernetes, so its version is needed; "+
			"want GROUP/VERSION/KIND, such as example.com/v1/Widget", text)
	}
	return w, w.validate()
}

// versionOf returns the preferred version of a kind of Kubernetes, or an empty text.
func versionOf(group, kind string) string {
	for _, version := range clientgoscheme.Scheme.PrioritizedVersionsForGroup(group) {
		if clientgoscheme.Scheme.Recognizes(version.WithKind(kind)) {
			return version.Version
		}
	}
	return ""
}

func (w Watched) validate() error {
	var errs []error
	if w.Group != "" && len(validation.IsDNS1123Subdomain(w.Group)) > 0 {
		errs = append(errs, fmt.Errorf("--watch: %q is not the name of an API group", w.Group))
	}
	if !apiVersion.MatchString(w.Version) {
		errs = append(errs, fmt.Errorf("--watch: want a version such as v1 or v1beta2, not %q", w.Version))
	}
	if !kindName.MatchString(w.Kind) {
		errs = append(errs, fmt.Errorf("--watch: want a kind such as Deployment, not %q", w.Kind))
	}
	return errors.Join(errs...)
}

// validateWatched returns an error for each watched kind that is invalid, given twice, or the kind of the component.
func (o Options) validateWatched() []error {
	var errs []error
	if longest := 63 - len("-namespace"); len(o.Watched) > 0 && len(o.Kind) > longest {
		errs = append(errs, fmt.Errorf(
			"--watch: the name of a label contains --kind, which may therefore have at most %d letters", longest))
	}
	seen := map[string]bool{}
	for _, w := range o.Watched {
		if err := w.validate(); err != nil {
			errs = append(errs, err)
		}
		if seen[w.GoName()] {
			errs = append(errs, fmt.Errorf("--watch: %s is given twice", w.Kind))
		}
		seen[w.GoName()] = true
		if w.Group == o.Group && w.Kind == o.Kind {
			errs = append(errs, fmt.Errorf("--watch: %s is the kind of the component, which is watched anyway", w.Kind))
		}
	}
	return errs
}

// watchedKinds returns the watched kinds for the rules of the operator.
func (o Options) watchedKinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, w := range o.Watched {
		kinds = append(kinds, schema.GroupVersionKind{Group: w.Group, Version: w.Version, Kind: w.Kind})
	}
	return kinds
}
