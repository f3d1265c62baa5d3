package dependencies

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// named returns the name of a component from the text NAME or NAMESPACE/NAME. The default namespace is shop.
func named(text string) types.NamespacedName {
	if namespace, name, found := strings.Cut(text, "/"); found {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	return types.NamespacedName{Namespace: "shop", Name: text}
}

// textOf is the inverse of named.
func textOf(name types.NamespacedName) string { return strings.TrimPrefix(name.String(), "shop/") }

func textsOf(all []types.NamespacedName) []string {
	var texts []string
	for _, name := range all {
		texts = append(texts, textOf(name))
	}
	return texts
}

// parse returns a component from a text: its name, and then in any order
//
//	ready, has (recorded dependents), deleting, began (its deletion), elsewhere
//	->NAME   it depends on a component, and blocks its deletion
//	?>NAME   it depends on a component, and ignores its deletion
//	~>NAME   it reads an export of a component
//	!>NAME   it reads an export, and blocks the deletion
//	+NAME    it has a child
//	@NAME    it allows a namespace
func parse(t testing.TB, text string) (name types.NamespacedName, node Node, children []types.NamespacedName) {
	t.Helper()
	words := strings.Fields(text)
	name = named(words[0])
	node.UID = types.UID(words[0])
	for _, word := range words[1:] {
		on := Edge{On: named(strings.TrimLeft(word, "-?~!>")), Kind: DependsOn}
		switch {
		case word == "ready":
			node.Health = ready
		case word == "has":
			node.Holds = true
		case word == "deleting":
			node.Deleting = true
		case word == "began":
			node.DeletionBegan = true
		case word == "elsewhere":
			node.Elsewhere = true
		case strings.HasPrefix(word, "+"):
			children = append(children, named(word[1:]))
		case strings.HasPrefix(word, "@"):
			node.Allows = append(node.Allows, word[1:])
		case strings.Contains(word, ">"):
			on.Blocks = word[0] == '-' || word[0] == '!'
			if word[0] == '~' || word[0] == '!' {
				on.Kind = Exports
			}
			node.Edges = append(node.Edges, on)
		default:
			t.Fatalf("%q has the unknown word %q", text, word)
		}
	}
	return name, node, children
}

// fixture is a Graph whose components come from texts.
type fixture struct {
	*Graph
	t       testing.TB
	version int
	woken   []types.NamespacedName
}

// newFixture returns a complete Graph with components; see parse.
func newFixture(t testing.TB, components ...string) *fixture {
	t.Helper()
	f := &fixture{t: t}
	f.Graph = New(func(name types.NamespacedName) { f.woken = append(f.woken, name) })
	for _, text := range components {
		f.put(text)
	}
	f.Complete()
	return f
}

// put delivers a new version of a component.
func (f *fixture) put(text string) {
	f.t.Helper()
	name, node, children := parse(f.t, text)
	f.version++
	node.Version = strconv.Itoa(f.version)
	f.Put(name, node)
	if children != nil {
		f.SetChildren(name, node.UID, children)
	}
}

// enter begins a pass over the newest version of a component.
func (f *fixture) enter(name string) {
	f.t.Helper()
	f.Enter(named(name), f.node(name))
}

func (f *fixture) node(name string) Node {
	f.t.Helper()
	c, found := f.answers.components[named(name)]
	if !found {
		f.t.Fatalf("%s does not exist", name)
	}
	return c.node
}

func (f *fixture) begin(name string) Answer {
	f.enter(name)
	return f.Begin(named(name), types.UID(name))
}

// waitFor begins a pass that waits for the dependencies of a component, and returns their causes.
func (f *fixture) waitFor(name string) []string {
	f.enter(name)
	var texts []string
	for _, s := range f.Follow(named(name), types.UID(name)).States {
		texts = append(texts, textOf(s.Edge.On)+" "+string(s.Cause))
	}
	return texts
}

// holdersOf begins a pass that deletes a component, and returns its holders. Holders that do not end have an
// exclamation mark.
func (f *fixture) holdersOf(name string, namespaceGoes bool) []string {
	f.enter(name)
	holders, isKnown := f.Holders(named(name), types.UID(name), namespaceGoes)
	if !isKnown {
		return []string{"not known"}
	}
	var texts []string
	for _, h := range holders {
		text := textOf(h.Name)
		if !h.Ends {
			text += "!"
		}
		texts = append(texts, text)
	}
	return texts
}

// takeWoken returns the components for which a pass was started since the last call.
func (f *fixture) takeWoken() []string {
	woken := textsOf(f.woken)
	f.woken = nil
	return woken
}

func (f *fixture) expectWoken(want ...string) {
	f.t.Helper()
	expect(f.t, "passes were started over", f.takeWoken(), want)
}

func expect(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s %q, not %q", what, got, want)
	}
}

// split returns the words of a text.
func split(text string) []string { return strings.Fields(text) }

func componentName(i int) types.NamespacedName { return named(fmt.Sprintf("c%04d", i)) }
