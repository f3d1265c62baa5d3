package rendering

import (
	"context"
	"strconv"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// provingScene returns a scene whose generator proves its renderings, as long as *proves is set.
func provingScene(t *testing.T) (s *scene, proves *bool) {
	t.Helper()
	s, proves = newScene(t), new(true)
	s.options.Generator = prover{s.options.Generator, proves}
	s.restart()
	return s, proves
}

type prover struct {
	generator.Generator
	proves *bool
}

func (p prover) Prove(ctx context.Context, req generator.Request) ([]client.Object, bool, error) {
	objects, err := p.Generate(ctx, req)
	return objects, *p.proves, err
}

func TestAProvenRenderingIsMadeOnce(t *testing.T) {
	s, proves := provingScene(t)
	if value, calls := s.apply(); value != "1" || calls != 1 {
		t.Errorf("new inputs: got the value %q after %d calls of the generator, want 1 after 1", value, calls)
	}
	if _, calls := s.apply(); calls != 0 {
		t.Errorf("known inputs: %d calls of the generator, want none", calls)
	}
	s.restart()
	if _, calls := s.apply(); calls != 1 {
		t.Errorf("after a restart: %d calls of the generator, want 1", calls)
	}
	*proves = false
	s.request.Inputs.Digest = "others"
	if _, calls := s.apply(); calls != 2 {
		t.Errorf("other inputs, without a proof: %d calls of the generator, want 2", calls)
	}
}

// The proof is about a rendering, and not about a source: another rendering of it may take a way with random values.
func TestRandomValuesAreFoundAfterAProvenRendering(t *testing.T) {
	s, proves := provingScene(t)
	s.apply()
	*proves = false
	next := 1
	s.generate = func(context.Context, generator.Request) ([]client.Object, error) {
		next++
		return []client.Object{settings("a", strconv.Itoa(next))}, nil
	}
	s.request.Inputs.Digest = "others"
	if value, calls := s.apply(); value != "2" || calls != 2 || s.component.status.RenderedSet == "" {
		t.Errorf("got the value %q after %d calls, pinned as %q", value, calls, s.component.status.RenderedSet)
	}
	s.restart()
	if value, _ := s.apply(); value != "2" {
		t.Errorf("after a restart the value is %q", value)
	}
	*proves = true
	s.generate = func(context.Context, generator.Request) ([]client.Object, error) {
		return []client.Object{settings("a", "fixed")}, nil
	}
	s.request.Inputs.Digest = "third"
	if value, calls := s.apply(); value != "fixed" || calls != 1 || s.component.status.RenderedSet != "" {
		t.Errorf("got the value %q after %d calls, pinned as %q", value, calls, s.component.status.RenderedSet)
	}
}

func TestAProvenRenderingThatFailsIsReported(t *testing.T) {
	s, _ := provingScene(t)
	s.generate = func(context.Context, generator.Request) ([]client.Object, error) { return []client.Object{nil}, nil }
	_, _, err := s.render()
	expect(t, err, metav1alpha1.ReasonGenerateFailed, true, "returned nil as object 1")
}
