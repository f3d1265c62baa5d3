package changes

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// Unified returns a unified diff of the YAML of two cleaned objects. It is empty if they are equal. An object that does
// not exist is nil. The values of Secrets are masked, but the diff shows which values differ.
func Unified(name string, before, after *unstructured.Unstructured) (string, error) {
	before, after = mask(before, after)
	from, err := text(before)
	if err != nil {
		return "", err
	}
	to, err := text(after)
	if err != nil {
		return "", err
	}
	diff, err := udiff.ToUnified(sideName(name, before, "before"), sideName(name, after, "after"), from,
		udiff.Lines(from, to), udiff.DefaultContextLines)
	return withLineNumbers(diff), err
}

// hunkHeader matches the header of a hunk: the first line and the number of lines before and after. One line has no
// number.
var hunkHeader = regexp.MustCompile(`(?m)^@@ -(\d+)(?:,(\d+))? \+(\d+)((?:,(\d+))?) @@$`)

// withLineNumbers corrects the first lines after the change in the headers of hunks. udiff 0.4.1 does not count the
// unchanged lines between two changes of a hunk, so the numbers of all following hunks are too small.
func withLineNumbers(diff string) string {
	number := func(text string, missing int) int {
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
		return missing
	}
	added := 0
	return hunkHeader.ReplaceAllStringFunc(diff, func(header string) string {
		m := hunkHeader.FindStringSubmatch(header)
		from, removed, inserted := number(m[1], 0), number(m[2], 1), number(m[5], 1)
		first := number(m[3], 0)
		if added != 0 {
			first = from + added
		}
		added += inserted - removed
		return strings.Replace(header, "+"+m[3]+m[4]+" @@", fmt.Sprintf("+%d%s @@", first, m[4]), 1)
	})
}

func sideName(name string, obj *unstructured.Unstructured, side string) string {
	if obj == nil {
		return "/dev/null"
	}
	return name + " (" + side + ")"
}

// text returns the YAML of an object, or an empty text for nil.
func text(obj *unstructured.Unstructured) (string, error) {
	if obj == nil {
		return "", nil
	}
	manifest, err := yaml.Marshal(obj.Object)
	return string(manifest), err
}

// The texts that replace the values of Secrets. Equal values have one text, different values another one on each side.
const (
	hidden       = "***"
	hiddenBefore = "*** (before)"
	hiddenAfter  = "*** (after)"
)

// mask returns copies of two Secrets without their values, and other objects unchanged.
func mask(before, after *unstructured.Unstructured) (maskedBefore, maskedAfter *unstructured.Unstructured) {
	if !IsSecret(before) && !IsSecret(after) {
		return before, after
	}
	maskedBefore, maskedAfter = before.DeepCopy(), after.DeepCopy()
	for _, field := range []string{"data", "stringData"} {
		hide(values(maskedBefore, field), values(after, field), hiddenBefore)
		hide(values(maskedAfter, field), values(before, field), hiddenAfter)
	}
	// The annotation of kubectl apply contains the whole object.
	for _, obj := range []*unstructured.Unstructured{maskedBefore, maskedAfter} {
		if obj != nil {
			hideLastApplied(obj)
		}
	}
	return maskedBefore, maskedAfter
}

// IsSecret reports whether the values of an object must not be shown.
func IsSecret(obj *unstructured.Unstructured) bool {
	return obj != nil && obj.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Secret"}
}

func values(obj *unstructured.Unstructured, field string) map[string]any {
	if obj == nil {
		return nil
	}
	found, _ := obj.Object[field].(map[string]any)
	return found
}

func hide(own, other map[string]any, differs string) {
	for key, value := range own {
		own[key] = hidden
		if counterpart, both := other[key]; both && counterpart != value {
			own[key] = differs
		}
	}
}

// lastApplied is the annotation in which kubectl apply stores the manifest.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func hideLastApplied(obj *unstructured.Unstructured) {
	annotations := obj.GetAnnotations()
	if _, ok := annotations[lastApplied]; ok {
		annotations[lastApplied] = hidden
		obj.SetAnnotations(annotations)
	}
}
