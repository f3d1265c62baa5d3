package manifests

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
)

// IgnoreSource says where a rule of an ignored field was written.
type IgnoreSource string

// The sources of rules.
const (
	// IgnoredByAnnotation is the annotation ignore of the manifest.
	IgnoredByAnnotation IgnoreSource = "annotation"
	// IgnoredByOption is an option of the reconciler.
	IgnoredByOption IgnoreSource = "option"
	// IgnoredBySpec is the spec of the component.
	IgnoredBySpec IgnoreSource = "spec"
)

// ignoreAnnotations are the annotations with ignored fields, by source, in the order of the sources.
var ignoreAnnotations = []struct {
	source IgnoreSource
	name   string
}{
	{IgnoredByAnnotation, AnnotationIgnore},
	{IgnoredByOption, AnnotationIgnoredByOption},
	{IgnoredBySpec, AnnotationIgnoredBySpec},
}

// Ignored is a path to fields of an object that are left to others.
type Ignored struct {
	Path   fieldpath.Path
	Source IgnoreSource
}

// maxIgnoreRules is the maximum number of rules of a source.
const maxIgnoreRules = 64

// IgnoreRule is a parsed rule: it names fields of the objects that its target selects.
type IgnoreRule struct {
	target objectTarget
	paths  []fieldpath.Path
	source IgnoreSource
	// text identifies the rule.
	text string
}

// String returns a text that identifies the rule: rules with equal texts are equal.
func (r IgnoreRule) String() string { return r.text }

// NewIgnoreRules parses the rules of a source. reconciler is the name of the reconciler, whose labels and annotations
// cannot be ignored. The returned error joins the errors of all rules; it names the rule and the path.
func NewIgnoreRules(
	reconciler string, source IgnoreSource, rules []metav1alpha1.IgnoreRule,
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

func newIgnoreRule(reconciler string, source IgnoreSource, rule metav1alpha1.IgnoreRule) (IgnoreRule, []error) {
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
			err = checkIgnored(reconciler, path)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		parsed.paths = append(parsed.paths, path)
	}
	return parsed, errs
}

// checkIgnored returns an error if a path leads to a field by which the reconciler or the API server identifies the
// object, or that decides about its deletion.
func checkIgnored(reconciler string, path fieldpath.Path) error {
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

// IgnoredOf returns the ignored fields by the reconciler's annotations of a live object. A value that cannot be read is
// skipped, because it is drift: another client changed it, and a later pass repairs it.
func IgnoredOf(annotations map[string]string, reconciler string) []fieldpath.Path {
	return pathsOf(LiveIgnored(annotations, reconciler))
}

// LiveIgnored returns the ignored fields of a live object like IgnoredOf, with the sources of their rules.
func LiveIgnored(annotations map[string]string, reconciler string) []Ignored {
	var ignored []Ignored
	for _, a := range ignoreAnnotations {
		text, ok := annotations[reconciler+"/"+a.name]
		if !ok {
			continue
		}
		paths, err := parseIgnored(reconciler, text)
		if err != nil {
			continue
		}
		for _, path := range paths {
			ignored = append(ignored, Ignored{Path: path, Source: a.source})
		}
	}
	return ignored
}

// ignoredIn returns the ignored fields by all annotations of a manifest.
func ignoredIn(annotations map[string]string, reconciler string) (ignored []Ignored, err error) {
	for _, a := range ignoreAnnotations {
		text, ok := annotations[reconciler+"/"+a.name]
		if !ok {
			continue
		}
		paths, err := parseIgnored(reconciler, text)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			ignored = append(ignored, Ignored{Path: path, Source: a.source})
		}
	}
	if len(ignored) > fieldpath.MaxPaths {
		return nil, fmt.Errorf("annotation, option and spec ignore %d paths; at most %d are allowed",
			len(ignored), fieldpath.MaxPaths)
	}
	return ignored, nil
}

// parseIgnored parses the value of an annotation. The returned error joins the errors of all paths.
func parseIgnored(reconciler, text string) ([]fieldpath.Path, error) {
	paths, err := fieldpath.ParseList(text)
	errs := []error{err}
	for _, path := range paths {
		errs = append(errs, checkIgnored(reconciler, path))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return paths, nil
}

func (p *settingsParser) ignored() []Ignored {
	text, ok := p.value(AnnotationIgnore)
	if !ok {
		return nil
	}
	paths, err := parseIgnored(p.prefix, text)
	if err != nil {
		p.fail(AnnotationIgnore, "%w", err)
	}
	var ignored []Ignored
	for _, path := range paths {
		ignored = append(ignored, Ignored{Path: path, Source: IgnoredByAnnotation})
	}
	return ignored
}

// IgnoredPaths returns the paths to the fields that are left to others.
func (s Settings) IgnoredPaths() []fieldpath.Path {
	return pathsOf(s.Ignored())
}

func pathsOf(ignored []Ignored) []fieldpath.Path {
	if len(ignored) == 0 {
		return nil
	}
	paths := make([]fieldpath.Path, 0, len(ignored))
	for _, i := range ignored {
		paths = append(paths, i.Path)
	}
	return paths
}

// ignore adds the rules of options and spec to the annotations of a manifest, so that the watches find them on the live
// object, and returns all ignored fields. An object that is only observed, or that a deletion applies, has no rules of
// options and spec.
func (n normaliser) ignore(body *unstructured.Unstructured, s Settings) ([]Ignored, error) {
	if len(n.Ignore) == 0 || s.IsObserved() || s.Phase != PhaseApply {
		return s.Ignored(), checkSecretPaths(body, s.Ignored())
	}
	annotations := map[string]string{}
	for _, a := range ignoreAnnotations[1:] {
		if texts := n.ignoredBy(a.source, body); len(texts) > 0 {
			annotations[n.Reconciler+"/"+a.name] = strings.Join(texts, ", ")
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
func (n normaliser) ignoredBy(source IgnoreSource, body *unstructured.Unstructured) []string {
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
func checkSecretPaths(body *unstructured.Unstructured, ignored []Ignored) error {
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
