package related

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var everybody = []string{"a", "b", "c", "d", "e", "f", "g", "h"}

func dataOf(obj client.Object) any {
	if c, ok := obj.(*corev1.ConfigMap); ok {
		return c.Data
	}
	return obj.GetLabels()
}

func TestResultsOfComparisons(t *testing.T) {
	filters := Options{
		Added:   func(client.Object) bool { return false },
		Changed: func(client.Object, client.Object) bool { return false },
	}
	whole, metadata := filters, filters
	whole.Whole, metadata.Whole, metadata.MetadataOnly = true, true, true
	none, x, y := comparisonState{}, comparisonState{digest: "x"}, comparisonState{digest: "y"}
	first, unread := comparisonState{isUnread: true}, comparisonState{digest: "x", isUnread: true}
	for _, c := range []struct {
		name    string
		options Options
		// before is the state of the version before, and after the state of the new one, whose digest is read.
		isNew, isUnused bool
		before          comparisonState
		read            string
		partErr         error
		want            comparisonResult
		after           comparisonState
	}{
		{name: "a new object", isNew: true, want: resultDiffers},
		{name: "a new object, left out", options: filters, isNew: true, read: "y", want: resultFiltered, after: y},
		{name: "an equal part", before: x, read: "x", want: resultEqual, after: x},
		{name: "another part", before: x, read: "y", want: resultDiffers, after: y},
		{name: "another part, left out", options: filters, before: x, read: "y", want: resultFiltered, after: y},
		{name: "metadata, left out", options: metadata, before: x, read: "y", want: resultFiltered, after: y},
		{name: "no body of the version before", options: whole, before: x, read: "y", want: resultDiffers, after: y},
		{name: "a part with an error again", before: none, partErr: errDown, want: resultDiffers},
		{name: "a body that is not in memory", before: x, want: resultUnread, after: unread},
		{name: "a body that was never read", before: none, want: resultFirst, after: first},
		{name: "no body, left out", options: filters, before: x, want: resultFiltered, after: x},
		{name: "left out after a version that counts", options: filters, before: unread, want: resultUnread, after: unread},
		{name: "no component", isUnused: true, before: unread, want: resultUnused},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.options.New = func() client.Object { return &corev1.ConfigMap{} }
			version := func(digest string, state comparisonState) *object {
				return &object{meta: &metav1.PartialObjectMetadata{}, digest: digest, compared: state}
			}
			before, after := version(c.before.digest, c.before), version(c.read, none)
			after.partErr = c.partErr
			if c.isNew {
				before = nil
			}
			of := comparison{convert: converter{options: &c.options, run: t.Context()}}
			if got := of.ofEvent(before, after, !c.isUnused); got != c.want || after.compared != c.after {
				t.Errorf("the result is %s, and the state is %+v", got, after.compared)
			}
		})
	}
}

// change sends the event of a version that the server has, too.
func (r *relation) change(t *testing.T, s *slowServer, c *corev1.ConfigMap) {
	t.Helper()
	s.set(c, nil)
	r.update(t, c)
	synctest.Wait()
}

// readOnce makes a pass over the component a read the object.
func (r *relation) readOnce(t *testing.T, s *slowServer) {
	t.Helper()
	a := r.read(t.Context(), "a")
	s.release()
	if a.err != nil {
		t.Fatal(a.err)
	}
}

func TestAnEqualPartOfAnObjectThatIsNotKeptWakesNobodyAndCostsOneRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server := slow(t, Options{Part: dataOf})
		r.readOnce(t, server)
		touched := configMap(sharedName, "11", "x")
		touched.Labels = map[string]string{"heartbeat": "11"}
		r.change(t, server, touched)
		r.Expect(t)
		server.release()
		r.Expect(t)
		if got := r.values(t, "b"); !slices.Equal(got, []string{"shared=x"}) || server.count() != 2 {
			t.Errorf("got %v after %d reads", got, server.count())
		}

		t.Log("another part wakes all components once, and their passes need no further read")
		r.change(t, server, configMap(sharedName, "12", "y"))
		r.Expect(t)
		server.release()
		r.Expect(t, everybody...)
		for _, name := range everybody {
			if a := r.read(t.Context(), name); a.value != "y" || a.err != nil {
				t.Errorf("%s got %+v", name, a)
			}
		}
		if server.count() != 3 {
			t.Errorf("%d reads", server.count())
		}
	})
}

func TestTheFirstChangeWakesAtOnceIfNothingWasRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server := slow(t, Options{Part: dataOf})
		r.change(t, server, configMap(sharedName, "11", "x"))
		r.Expect(t, everybody...)
		server.release()
		r.Expect(t)
		r.change(t, server, configMap(sharedName, "12", "x"))
		server.release()
		r.Expect(t)
	})
}

func TestAChangeThatCannotBeReadWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server := slow(t, Options{Part: dataOf})
		r.readOnce(t, server)
		server.set(nil, errDown)
		r.update(t, configMap(sharedName, "11", "x"))
		synctest.Wait()
		server.release()
		r.Expect(t, everybody...)

		t.Log("a server that answers with an older version")
		server.set(configMap(sharedName, "11", "x"), nil)
		r.readOnce(t, server)
		r.update(t, configMap(sharedName, "12", "x"))
		synctest.Wait()
		server.release()
		r.Expect(t, everybody...)
	})
}

func TestSeveralChangesDuringAReadAreComparedWithTheLastValueThatWasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server := slow(t, Options{Part: dataOf})
		r.readOnce(t, server)
		t.Log("the value changes and changes back, and nobody sees the value in between")
		r.change(t, server, configMap(sharedName, "11", "y"))
		r.change(t, server, configMap(sharedName, "12", "x"))
		server.release()
		server.release()
		r.Expect(t, everybody...) // The first read saw it.
		r.change(t, server, configMap(sharedName, "13", "z"))
		server.set(configMap(sharedName, "14", "x"), nil)
		r.update(t, configMap(sharedName, "14", "x"))
		synctest.Wait()
		server.release()
		server.release()
		r.Expect(t, everybody...)
		if len(r.informer.objects.versions.comparison.requested) != 0 || r.informer.objects.versions.comparison.running != 0 {
			t.Errorf("%d changes and %d readers are left", len(r.informer.objects.versions.comparison.requested),
				r.informer.objects.versions.comparison.running)
		}
	})
}

func TestAPassThatReadAVersionInBetweenSeesTheLastOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server := slow(t, Options{Part: dataOf, Idle: time.Hour})
		r.readOnce(t, server)
		r.evict(time.Now().Add(2 * time.Hour))
		server.set(configMap(sharedName, "11", "y"), nil)
		late := r.read(t.Context(), "a") // Its answer is on the way.
		r.change(t, server, configMap(sharedName, "12", "x"))
		server.release()
		server.release()
		if late.err != nil || late.value != "y" {
			t.Fatalf("got %+v", late)
		}
		r.Expect(t, everybody...)
		if got := r.values(t, "a"); !slices.Equal(got, []string{"shared=x"}) {
			t.Errorf("got %v", got)
		}
	})
}

func TestABodyThatNobodyWantsIsReadAndNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server := slow(t, Options{Part: dataOf, Idle: time.Hour})
		r.readOnce(t, server)
		isKept := func() bool { return r.informer.objects.versions.objects[key(sharedName)].body != nil }
		r.change(t, server, configMap(sharedName, "11", "x"))
		server.release()
		if !isKept() {
			t.Error("a body that was wanted is not kept")
		}
		r.evict(time.Now().Add(2 * time.Hour))
		r.change(t, server, configMap(sharedName, "12", "x"))
		server.release()
		if isKept() {
			t.Error("a body that nobody wants is kept")
		}
		r.change(t, server, configMap(sharedName, "13", "y"))
		server.release()
		if !isKept() {
			t.Error("a body that components will want is not kept")
		}
	})
}

func TestAFilterDecidesWhetherAnObjectIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := false
		r, server := slow(t, Options{Part: dataOf, Changed: func(_, after client.Object) bool {
			if c, ok := after.(*corev1.ConfigMap); !ok || c.Data != nil {
				t.Error("the filter sees more than metadata")
			}
			return counts
		}})
		r.readOnce(t, server)
		r.change(t, server, configMap(sharedName, "11", "y"))
		r.Expect(t)
		if server.count() != 1 {
			t.Errorf("%d reads", server.count())
		}
		counts = true
		r.change(t, server, configMap(sharedName, "12", "z"))
		counts = false
		r.change(t, server, configMap(sharedName, "13", "z"))
		server.release()
		server.release()
		r.Expect(t, everybody...)
	})
}

func TestAnObjectWithoutComponentsIsNotRead(t *testing.T) {
	forLabel := func(obj client.Object) []client.ObjectKey { return []client.ObjectKey{key(obj.GetLabels()["for"])} }
	toShared := func(client.Object) []client.ObjectKey { return []client.ObjectKey{key(sharedName)} }
	for name, options := range map[string]Options{"Of": {Of: toShared}, "For": {For: forLabel}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				options.Part = dataOf
				options.Changed = func(client.Object, client.Object) bool {
					t.Error("a filter is asked")
					return true
				}
				r, server := slow(t, options)
				r.update(t, configMap("other", "11", "x"))
				r.change(t, server, configMap("other", "12", "y"))
				r.Expect(t)
				if server.count() != 0 || r.informer.objects.versions.objects[key("other")].body != nil {
					t.Errorf("%d reads", server.count())
				}
			})
		})
	}
}

func TestAnObjectIsComparedAgainAfterATimeWithoutComponents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := []client.ObjectKey{key(sharedName)}
		r, server := slow(t, Options{Part: dataOf, Of: func(client.Object) []client.ObjectKey { return of }})
		r.readOnce(t, server)
		of = nil
		r.track(t, everybody...)
		r.change(t, server, configMap(sharedName, "11", "y"))
		r.Expect(t)
		t.Log("the value is the previous one again, and a component that is related now has not seen any")
		of = []client.ObjectKey{key(sharedName)}
		r.track(t, "a")
		r.change(t, server, configMap(sharedName, "12", "x"))
		r.Expect(t, "a")
		server.release()
		if server.count() != 2 {
			t.Errorf("%d reads", server.count())
		}
	})
}

func TestAnObjectThatIsNotKeptAndMovesWakesBothComponents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server := slow(t, Options{Part: dataOf, For: func(obj client.Object) []client.ObjectKey {
			return []client.ObjectKey{key(obj.GetLabels()["for"])}
		}})
		named := func(version, name string) *corev1.ConfigMap {
			c := configMap(sharedName, version, "x")
			c.Labels = map[string]string{"for": name}
			return c
		}
		r.change(t, server, named("11", "a"))
		server.release()
		r.Wakes()
		r.change(t, server, named("12", "b"))
		r.Expect(t, "a", "b")
		server.release()
		r.Expect(t)
	})
}

func TestAWriteOfAnObjectThatIsNotKeptDoesNotWakeItsWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, server := slow(t, Options{Part: dataOf})
		others := everybody[1:]
		r.readOnce(t, server)
		write := func(value, version string, before func(), during ...*corev1.ConfigMap) {
			t.Helper()
			before()
			written := configMap(sharedName, "1", value)
			if err := r.Write(t.Context(), key("a"), written, func(context.Context) error {
				for _, event := range during {
					r.change(t, server, event)
				}
				written.ResourceVersion = version
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		nothing := func() {}
		drain := func(n int) {
			for range n {
				server.release()
			}
		}
		t.Log("the event comes before the response, and the read after it")
		write("own", "20", nothing, configMap(sharedName, "20", "own"))
		r.Expect(t, others...)
		drain(1)
		r.Expect(t)
		t.Log("the event comes after the response")
		write("own again", "21", nothing)
		r.change(t, server, configMap(sharedName, "21", "own again"))
		r.Expect(t, others...)
		t.Log("the read ends during the write")
		if err := r.Write(t.Context(), key("a"), configMap(sharedName, "1", "x"), func(context.Context) error {
			r.change(t, server, configMap(sharedName, "30", "foreign"))
			drain(1)
			return errDown
		}); err == nil {
			t.Error("no error")
		}
		r.Expect(t, everybody...)
		t.Log("another client writes in between")
		write("third", "41", nothing, configMap(sharedName, "40", "foreign"), configMap(sharedName, "41", "third"))
		drain(2)
		r.Expect(t, everybody...)
		t.Log("another client wrote before, and the change is not compared yet")
		write("fourth", "51", func() { r.change(t, server, configMap(sharedName, "50", "foreign")) })
		drain(1)
		r.Expect(t, everybody...)
		if len(r.informer.objects.versions.writes) != 0 {
			t.Error("a write is left")
		}
	})
}

func TestAnEqualPartOfMetadataWakesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelation(t, Options{MetadataOnly: true, Part: dataOf})
		r.track(t, "a")
		c := configMap(sharedName, "1", "")
		c.Labels = map[string]string{"zone": "one"}
		r.list(t, c)
		r.Expect(t, "a")
		c.ResourceVersion, c.Annotations = "11", map[string]string{"heartbeat": "11"}
		r.update(t, c)
		r.Expect(t)
		c.ResourceVersion, c.Labels = "12", map[string]string{"zone": "two"}
		r.update(t, c)
		r.Expect(t, "a")
	})
}

func TestFiltersDecideAboutCreatedAndDeletedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := func(obj client.Object) bool {
			c, ok := obj.(*corev1.ConfigMap)
			if !ok || c.Data["value"] == "bug" {
				panic("a bug")
			}
			return c.Data["value"] == "large"
		}
		r := newRelation(t, Options{Whole: true, Added: large, Deleted: large})
		r.track(t, "a")
		r.list(t)
		r.Expect(t, "a")
		for _, c := range []struct {
			value string
			woken []string
		}{{"small", nil}, {"large", []string{"a"}}, {"bug", []string{"a"}}} {
			r.update(t, configMap(sharedName, "11", c.value))
			r.Expect(t, c.woken...)
			if got := r.values(t, "a"); len(got) != 1 {
				t.Errorf("a filter hides the object: %v", got)
			}
			if err := r.part.Delete(wire(t, configMap(sharedName, "12", c.value), true)); err != nil {
				t.Fatal(err)
			}
			r.Expect(t, c.woken...)
		}
	})
}

func TestFiltersSeeNoObjectWhoseBodyWasDropped(t *testing.T) {
	large := func(obj client.Object) bool {
		c, ok := obj.(*corev1.ConfigMap)
		return ok && c.Data["value"] == "large"
	}
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		r := newRelation(t, Options{
			Whole: true, Idle: time.Hour, Part: dataOf, Deleted: large,
			Changed: func(before, after client.Object) bool {
				asked++
				return large(before) != large(after)
			},
		})
		drop := func() { r.evict(time.Now().Add(3 * time.Hour)) }
		r.track(t, "a")
		r.list(t, configMap(sharedName, "1", "small"))
		r.Expect(t, "a")

		t.Log("an update counts if the version before is not in memory any more, and its body is not kept")
		drop()
		r.update(t, configMap(sharedName, "11", "large"))
		r.Expect(t, "a")
		if asked != 0 || r.informer.objects.versions.objects[key(sharedName)].body != nil {
			t.Errorf("the filter was asked %d times, or the body is kept", asked)
		}
		r.update(t, configMap(sharedName, "11", "large"))
		if r.informer.objects.versions.objects[key(sharedName)].body != nil {
			t.Error("the body is kept after a second list")
		}

		t.Log("a filter of deletions sees the last state")
		remove := func(version, value string) {
			t.Helper()
			if err := r.part.Delete(wire(t, configMap(sharedName, version, value), true)); err != nil {
				t.Fatal(err)
			}
		}
		remove("12", "large")
		r.Expect(t, "a")
		r.update(t, configMap(sharedName, "13", "large"))
		r.Expect(t, "a")
		drop()
		remove("14", "small")
		r.Expect(t)

		t.Log("a deletion that only a list shows counts, because its last state is not known")
		r.update(t, configMap(sharedName, "15", "small"))
		r.Expect(t, "a")
		if err := r.part.Replace(nil, "20"); err != nil {
			t.Fatal(err)
		}
		r.Expect(t, "a")
	})
}

func TestAFilterOfDeletionsSeesTheLastMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelation(t, Options{Deleted: func(obj client.Object) bool { return obj.GetLabels()["large"] != "" }})
		r.track(t, "a")
		r.list(t, configMap(sharedName, "1", "x"))
		r.Expect(t, "a")
		last := configMap(sharedName, "11", "x")
		last.Labels = map[string]string{"large": "yes"}
		if err := r.part.Delete(wire(t, last, false)); err != nil {
			t.Fatal(err)
		}
		r.Expect(t, "a")
	})
}

func TestAPartOfMetadataThatPanicsWakesAndReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		panics := true
		r := newRelation(t, Options{MetadataOnly: true, Part: func(obj client.Object) any {
			if panics {
				panic("a bug")
			}
			return obj.GetLabels()
		}})
		server := &slowServer{}
		r.informer.reader.cluster.Dynamic = server
		r.track(t, "a")
		r.list(t, configMap(sharedName, "1", "x"))
		r.Expect(t, "a")
		for _, version := range []string{"11", "12"} {
			r.update(t, configMap(sharedName, version, "x"))
			r.Expect(t, "a")
			if _, err := r.Input(t.Context(), key("a")); err == nil || !strings.Contains(err.Error(), "a bug") {
				t.Errorf("the input has the error %v", err)
			}
		}
		panics = false
		r.update(t, configMap(sharedName, "13", "x"))
		r.Expect(t, "a")
		r.update(t, configMap(sharedName, "14", "x"))
		r.Expect(t)
		if in, err := r.Input(t.Context(), key("a")); err != nil || in.Digest == "" || server.count() != 0 {
			t.Errorf("got %+v, %v after %d reads", in, err, server.count())
		}
	})
}

func TestAPartThatPanicsIsAnErrorForItsComponentsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelation(t, Options{
			Whole: true, Of: func(obj client.Object) []client.ObjectKey { return []client.ObjectKey{key(obj.GetName())} },
			Part: func(obj client.Object) any {
				if c, ok := obj.(*corev1.ConfigMap); ok && c.Data["value"] == "bad" {
					panic("a bug")
				}
				return dataOf(obj)
			},
		})
		r.track(t, "a", "b")
		r.list(t, configMap("a", "1", "x"), configMap("b", "2", "bad"))
		r.Expect(t, "a", "b")
		if in, err := r.Input(t.Context(), key("a")); err != nil || in.Digest == "" {
			t.Errorf("a has %+v, %v", in, err)
		}
		if _, err := r.Input(t.Context(), key("b")); err == nil || !strings.Contains(err.Error(), "a bug") {
			t.Errorf("b has the error %v", err)
		}
		r.update(t, configMap("a", "11", "bad"))
		r.update(t, configMap("b", "12", "x"))
		r.Expect(t, "a", "b")
		if _, err := r.Input(t.Context(), key("a")); err == nil || !strings.Contains(err.Error(), "a bug") {
			t.Errorf("a has the error %v", err)
		}
		if in, err := r.Input(t.Context(), key("b")); err != nil || in.Digest == "" {
			t.Errorf("b has %+v, %v", in, err)
		}
	})
}

func TestFiltersOfObjectsThatNameTheirComponents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		isSeen := func(obj client.Object) bool {
			if c, ok := obj.(*corev1.ConfigMap); !ok || c.Data != nil {
				t.Errorf("a filter sees %T with a body", obj)
			}
			return obj.GetLabels()["seen"] != ""
		}
		r, server := slow(t, Options{
			Part: dataOf, Added: isSeen, Deleted: isSeen,
			Changed: func(_, after client.Object) bool { return isSeen(after) },
			For:     func(obj client.Object) []client.ObjectKey { return []client.ObjectKey{key(obj.GetLabels()["for"])} },
		})
		labelled := func(version, name, seen string) *corev1.ConfigMap {
			c := configMap("new", version, version)
			c.Labels = map[string]string{"for": name, "seen": seen}
			return c
		}
		r.change(t, server, labelled("11", "a", ""))
		r.Expect(t)
		r.change(t, server, labelled("12", "a", ""))
		r.Expect(t)
		t.Log("a component that an object names, or does not name any more, is woken anyway")
		r.change(t, server, labelled("13", "b", ""))
		r.Expect(t, "a", "b")
		if server.count() != 0 {
			t.Errorf("%d reads", server.count())
		}
		r.change(t, server, labelled("14", "b", "yes"))
		r.Expect(t, "b")
		server.release()
		r.change(t, server, labelled("15", "b", "yes"))
		r.Expect(t)
		server.release()
		r.Expect(t, "b")
		if err := r.part.Delete(wire(t, labelled("16", "b", ""), false)); err != nil {
			t.Fatal(err)
		}
		r.Expect(t)
		r.change(t, server, labelled("17", "a", "yes"))
		r.Expect(t, "a")
	})
}
