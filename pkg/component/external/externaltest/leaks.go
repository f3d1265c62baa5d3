package externaltest

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// shortestSecret is the length of the shortest values that are searched, as in a driver.
const shortestSecret = 4

// leaks finds values of Secrets in texts for users. It is used by one goroutine.
type leaks struct {
	secrets []secret
	found   []error
}

// secret is a value of a Secret.
type secret struct {
	reference generator.Reference
	key       string
	forms     []string
}

func newLeaks(all ...generator.References) *leaks {
	l := &leaks{}
	for _, references := range all {
		for reference, data := range references {
			if reference.Kind != metav1alpha1.SecretReference {
				continue
			}
			for key, value := range data {
				if text := strings.TrimSpace(string(value)); len(text) >= shortestSecret {
					l.secrets = append(l.secrets, secret{reference, key, formsOf(text)})
				}
			}
		}
	}
	slices.SortFunc(l.secrets, func(a, b secret) int {
		return cmp.Or(strings.Compare(a.reference.Name, b.reference.Name), strings.Compare(a.key, b.key))
	})
	return l
}

// formsOf returns the texts that show a value.
func formsOf(value string) []string {
	return []string{
		value,
		strings.Trim(strconv.Quote(value), `"`),
		url.QueryEscape(value),
		url.PathEscape(value),
		base64.RawStdEncoding.EncodeToString([]byte(value)),
		base64.RawURLEncoding.EncodeToString([]byte(value)),
	}
}

// search notes the values of Secrets in the texts of a method.
func (l *leaks) search(method string, err error, texts ...string) {
	if err != nil {
		texts = append(texts, err.Error())
	}
	for _, s := range l.secrets {
		for _, text := range texts {
			if !slices.ContainsFunc(s.forms, func(form string) bool { return strings.Contains(text, form) }) {
				continue
			}
			found := fmt.Errorf("an error or message of %s shows the value of the key %s of Secret %s; leave it out",
				method, s.key, s.reference.Name)
			if !slices.ContainsFunc(l.found, func(e error) bool { return e.Error() == found.Error() }) {
				l.found = append(l.found, found)
			}
		}
	}
}

func (l *leaks) err() error { return errors.Join(l.found...) }

// observed is a driver whose texts are searched.
type observed struct {
	external.Driver
	leaks *leaks
}

// Check implements external.Driver.
func (o observed) Check(r external.Request) external.Findings {
	findings := o.Driver.Check(r)
	o.leaks.search("the check of the spec", findings.Invalid)
	return findings
}

// Observe implements external.Driver.
func (o observed) Observe(ctx context.Context, r external.Request) (external.Answer, error) {
	answer, err := o.Driver.Observe(ctx, r)
	o.leaks.search("Observe", err, answer.Differs, answer.Message)
	return answer, err
}

// Create implements external.Driver.
func (o observed) Create(ctx context.Context, r external.Request) (external.Answer, error) {
	answer, err := o.Driver.Create(ctx, r)
	o.leaks.search("Create", err, answer.Differs, answer.Message)
	return answer, err
}

// Update implements external.Driver.
func (o observed) Update(ctx context.Context, r external.Request) (external.Answer, error) {
	answer, err := o.Driver.Update(ctx, r)
	o.leaks.search("Update", err, answer.Differs, answer.Message)
	return answer, err
}

// Delete implements external.Driver.
func (o observed) Delete(ctx context.Context, r external.Request) error {
	err := o.Driver.Delete(ctx, r)
	o.leaks.search("Delete", err)
	return err
}

// Find implements external.Driver.
func (o observed) Find(ctx context.Context, r external.Request) (id string, found bool, err error) {
	id, found, err = o.Driver.Find(ctx, r)
	o.leaks.search("Find", err)
	return id, found, err
}

// List implements external.Driver.
func (o observed) List(
	ctx context.Context, a external.Account, externals []external.Request,
) (map[int]external.Answer, error) {
	answers, err := o.Driver.List(ctx, a, externals)
	o.leaks.search("List", err)
	return answers, err
}
