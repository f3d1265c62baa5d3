package discovery

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestMapperReset(t *testing.T) {
	widgets := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	scope, built := meta.RESTScopeNamespace, 0
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	m, err := newMapper(func() (meta.RESTMapper, error) {
		built++
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(widgets.WithVersion("v1"), scope)
		return mapper, nil
	}, clock)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(what string, want meta.RESTScope, builds int) {
		t.Helper()
		mapping, err := m.RESTMapping(widgets, "v1")
		if err != nil {
			t.Fatal(err)
		}
		if mapping.Scope.Name() != want.Name() || built != builds {
			t.Errorf("%s: the mapper returned the scope %s, and was built %d times", what, mapping.Scope.Name(), built)
		}
	}
	expect("a type is found", meta.RESTScopeNamespace, 1)
	clock.SetTime(clock.Now().Add(time.Hour))
	scope = meta.RESTScopeRoot
	expect("a known type is not read again", meta.RESTScopeNamespace, 1)
	m.Reset()
	expect("after Reset, a type is read again", meta.RESTScopeRoot, 2)
	for range 10 {
		m.Reset()
	}
	expect("a Reset within resetInterval has no effect", meta.RESTScopeRoot, 2)
	clock.SetTime(clock.Now().Add(resetInterval))
	m.Reset()
	expect("a Reset after resetInterval has an effect", meta.RESTScopeRoot, 3)
}
