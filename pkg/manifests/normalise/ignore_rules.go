package normalise

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/internal/fieldpath"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxIgnoreRules is the maximum number of rules of a source.
const maxIgnoreRules = 64

// IgnoreRule is a parsed rule: it names fields of the objects that its target selects.
type IgnoreRule struct {
	target objectTarget
	paths  []fieldpath.Path
	source manifests.IgnoreSource
	// text identifies the rule.
	text string
}

// String returns a text that identifies the rule: rules with equal texts are equal.
func (r IgnoreRule) String() string { return r.text }

// NewIgnoreRules parses the rules of a source. reconciler is the name of the reconciler, whose labels and annotations
// cannot be ignored. The returned error joins the errors of all rules; it names the rule and the path.
func NewIgnoreRules(
	reconciler string, source manifests.IgnoreSource, rules []metav1alpha1.IgnoreRule,
) ([]IgnoreRule, error) {
	if len(rules) > maxIgnoreRules {
		return nil, fmt.Errorf("%d rules; at most %d are allowed", len(rules), maxIgnoreRules)
	}
	parsed := make([]IgnoreRule, 0, len(rules))
	var errs []error
	for i, rule := range rules {
		p, problems := newIgnoreRule(reconciler, source, rule)
		for _, err := range problems {
			errs = append(errs, fmt.Errorf("[%d]: %w", i, err))
		}
		parsed = append(parsed, p)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return parsed, nil
}

func newIgnoreRule(reconciler string, source manifests.IgnoreSource, rule metav1alpha1.IgnoreRule) (IgnoreRule, []error) {
	target, errs := newObjectTarget(rule.Target)
	parsed := IgnoreRule{target: target, source: source, text: fmt.Sprintf("%s %+v %q", source, rule.Target, rule.Paths)}
	switch {
	case len(rule.Paths) == 0:
		errs = append(errs, errors.New("paths is empty; want a path such as spec.replicas"))
	case len(rule.Paths) > fieldpath.MaxPaths:
		return parsed, append(errs, fmt.Errorf("%d paths; at most %d are allowed", len(rule.Paths), fieldpath.MaxPaths))
	}
	for _, text := range rule.Paths {
		path, err := fieldpath.Parse(text)
		if err == nil {
			err = fieldpath.CheckIgnored(reconciler, path)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		parsed.paths = append(parsed.paths, path)
	}
	return parsed, errs
}

// ignoredIn returns the ignored fields by all annotations of a manifest.
func ignoredIn(annotations map[string]string, reconciler string) (ignored []manifests.Ignored, err error) {
	for _, source := range marks.IgnoreSources {
		text, ok := annotations[reconciler+"/"+marks.IgnoreAnnotation(source)]
		if !ok {
			continue
		}
		paths, err := fieldpath.ParseIgnored(reconciler, text)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			ignored = append(ignored, manifests.Ignored{Path: path, Source: source})
		}
	}
	if len(ignored) > fieldpath.MaxPaths {
		return nil, fmt.Errorf("annotation, option and spec ignore %d paths; at most %d are allowed",
			len(ignored), fieldpath.MaxPaths)
	}
	return ignored, nil
}

// ignore adds the rules of options and spec to the annotations of a manifest, so that the watches find them on the live
// object, and returns all ignored fields. An object that is only observed, or that a deletion applies, has no rules of
// options and spec.
func (n normaliser) ignore(body *unstructured.Unstructured, s manifests.Settings) ([]manifests.Ignored, error) {
	if len(n.Ignore) == 0 || s.IsObserved() || s.Phase != manifests.PhaseApply {
		return s.Ignored(), checkSecretPaths(body, s.Ignored())
	}
	annotations := map[string]string{}
	for _, source := range marks.IgnoreSources[1:] {
		if texts := n.ignoredBy(source, body); len(texts) > 0 {
			annotations[n.Reconciler+"/"+marks.IgnoreAnnotation(source)] = strings.Join(texts, ", ")
		}
	}
	if len(annotations) == 0 {
		return s.Ignored(), checkSecretPaths(body, s.Ignored())
	}
	maps.Insert(annotations, maps.All(body.GetAnnotations()))
	ignored, err := ignoredIn(annotations, n.Reconciler)
	if err != nil {
		return nil, err
	}
	body.SetAnnotations(annotations)
	return ignored, checkSecretPaths(body, ignored)
}

// ignoredBy returns the sorted paths of the rules of a source that select a manifest.
func (n normaliser) ignoredBy(source manifests.IgnoreSource, body *unstructured.Unstructured) []string {
	var texts []string
	for _, rule := range n.Ignore {
		if rule.source != source || !rule.target.matches(body) {
			continue
		}
		for _, path := range rule.paths {
			texts = append(texts, path.String())
		}
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// checkSecretPaths returns an error for each path to stringData of a Secret, which the API server merges into data.
func checkSecretPaths(body *unstructured.Unstructured, ignored []manifests.Ignored) error {
	if body.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Secret"}) {
		return nil
	}
	var errs []error
	for _, i := range ignored {
		if names := i.Path.Names(); len(names) > 0 && names[0] == "stringData" {
			errs = append(errs, fmt.Errorf(
				"ignored path %q: the API server keeps stringData of a Secret as data; write data instead", i.Path))
		}
	}
	return errors.Join(errs...)
}

// objectTarget is a compiled target of a rule.
type objectTarget struct {
	group, version, kind, namespace, name *regexp.Regexp
	labels, annotations                   labels.Selector
}

func newObjectTarget(t *metav1alpha1.ObjectTarget) (objectTarget, []error) {
	if t == nil {
		return objectTarget{}, nil
	}
	var compiled objectTarget
	var errs []error
	for _, f := range []struct {
		field, text string
		to          **regexp.Regexp
	}{
		{"group", t.Group, &compiled.group},
		{"version", t.Version, &compiled.version},
		{"kind", t.Kind, &compiled.kind},
		{"namespace", t.Namespace, &compiled.namespace},
		{"name", t.Name, &compiled.name},
	} {
		if f.text == "" {
			continue
		}
		_, err := bounded.Pattern(f.text)
		if err == nil {
			*f.to, err = regexp.Compile("^(?:" + f.text + ")$")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("target.%s: %w", f.field, err))
		}
	}
	for _, f := range []struct {
		field, text string
		to          *labels.Selector
	}{
		{"labelSelector", t.LabelSelector, &compiled.labels},
		{"annotationSelector", t.AnnotationSelector, &compiled.annotations},
	} {
		if f.text == "" {
			continue
		}
		var err error
		if *f.to, err = labels.Parse(f.text); err != nil {
			errs = append(errs, fmt.Errorf("target.%s: %w", f.field, err))
		}
	}
	return compiled, errs
}

// matches reports whether the target selects a manifest.
func (t objectTarget) matches(body *unstructured.Unstructured) bool {
	gvk := body.GroupVersionKind()
	return matchesText(t.group, gvk.Group) && matchesText(t.version, gvk.Version) && matchesText(t.kind, gvk.Kind) &&
		matchesText(t.namespace, body.GetNamespace()) && matchesText(t.name, body.GetName()) &&
		(t.labels == nil || t.labels.Matches(labels.Set(body.GetLabels()))) &&
		(t.annotations == nil || t.annotations.Matches(labels.Set(body.GetAnnotations())))
}

func matchesText(pattern *regexp.Regexp, text string) bool {
	return pattern == nil || pattern.MatchString(text)
}
