package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

const (
	// maxPopulation is the maximum number of hostile components at a time.
	maxPopulation = 16
	// maxPause is the longest pause between two actions.
	maxPause = time.Second
)

// counts maps names to numbers.
type counts map[string]int

func (c counts) sum() int {
	n := 0
	for _, k := range c {
		n += k
	}
	return n
}

// attacker creates, changes and deletes hostile components, with the rights of a tenant.
type attacker struct {
	world  *world
	client client.Client
	random *rand.Rand
	scene  scene
	// next is the seed of the next component, and population has the living components, the oldest first.
	next       uint64
	population []*attack
	// made counts the components by kind, refused those that the API server refused, and tampered the changed records.
	made, refused counts
	tampered      int
	// waiting are the components that could not be deleted, with the reason.
	waiting []string
}

func newAttacker(ctx context.Context, w *world, c client.Client) (*attacker, error) {
	request := &authenticationv1.TokenRequest{}
	owner := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: hostileNamespace, Name: account}}
	if err := w.admin.SubResource("token").Create(ctx, owner, request); err != nil {
		return nil, err
	}
	return &attacker{
		world: w, client: c, random: rand.New(rand.NewPCG(w.seed, 0)), next: w.seed, made: counts{}, refused: counts{},
		scene: scene{servers: w.servers.address, clusters: w.servers.clusters.URL, token: request.Status.Token},
	}, nil
}

// attack acts until the given time.
func (a *attacker) attack(ctx context.Context, until time.Time) error {
	for time.Now().Before(until) {
		var err error
		switch choice := a.random.IntN(20); {
		case len(a.population) < maxPopulation && choice < 11:
			a.create(ctx)
		case choice < 14:
			err = a.change(ctx)
		case choice < 17:
			err = a.tamper(ctx)
		default:
			err = a.remove(ctx)
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("attack: %w", err)
		}
		select {
		case <-time.After(time.Duration(a.random.Int64N(int64(maxPause)))):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// make returns the attack of the next seed.
func (a *attacker) make() *attack {
	made := attackOf(a.next, a.world.only, a.scene)
	a.next++
	a.made[made.kind]++
	return made
}

func (a *attacker) create(ctx context.Context) {
	made := a.make()
	a.world.say("seed %d: create %s", made.seed, made.kind)
	for _, object := range append(made.objects, made.component()) {
		if err := a.client.Create(ctx, object); err != nil {
			a.refuse(made, err)
			return
		}
	}
	a.population = append(a.population, made)
}

// refuse notes that the API server refused an object. Objects of attacks can be invalid or too large, in many ways.
func (a *attacker) refuse(made *attack, err error) {
	a.refused[made.kind]++
	a.world.say("seed %d: refused: %.100s", made.seed, err)
}

// change gives a component the spec of another attack.
func (a *attacker) change(ctx context.Context) error {
	if len(a.population) == 0 {
		return nil
	}
	victim, made := a.population[a.random.IntN(len(a.population))], a.make()
	a.world.say("seed %d: change the component of seed %d to %s", made.seed, victim.seed, made.kind)
	for _, object := range made.objects {
		if err := a.client.Create(ctx, object); err != nil {
			a.refuse(made, err)
			return nil
		}
	}
	component := &v1alpha1.Component{}
	if err := a.client.Get(ctx, victim.key(), component); err != nil {
		return client.IgnoreNotFound(err)
	}
	component.Spec = made.spec
	if err := a.client.Update(ctx, component); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		a.refuse(made, err)
		return nil
	}
	victim.objects = append(victim.objects, made.objects...)
	return nil
}

// remove deletes a component, and sometimes the objects that its deletion needs.
func (a *attacker) remove(ctx context.Context) error {
	if len(a.population) == 0 {
		return nil
	}
	i := a.random.IntN(len(a.population))
	victim := a.population[i]
	a.population = slices.Delete(a.population, i, i+1)
	a.world.say("seed %d: delete", victim.seed)
	doomed := []client.Object{victim.component()}
	if a.random.IntN(2) == 0 {
		doomed = append(doomed, victim.objects...)
	}
	for _, object := range doomed {
		if err := a.client.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// nameOfRecord matches the names of Secrets with records.
var nameOfRecord = regexp.MustCompile(`^(phases|rendered|inventory)-[0-9a-f]{40}-`)

// tamper replaces the content of a record by a bomb, or edits a dependent.
func (a *attacker) tamper(ctx context.Context) error {
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := a.client.List(ctx, secrets, client.InNamespace(hostileNamespace)); err != nil {
		return err
	}
	records := slices.DeleteFunc(secrets.Items, func(s metav1.PartialObjectMetadata) bool {
		return !nameOfRecord.MatchString(s.Name)
	})
	if len(records) == 0 {
		return nil
	}
	record := records[a.random.IntN(len(records))]
	bomb := bombs[a.random.IntN(len(bombs))]
	a.world.say("replace the record %s by %s", record.Name, bomb.name)
	patch := &corev1.Secret{Data: map[string][]byte{}}
	for _, key := range []string{"manifests.json.gz", "inventory.json.gz"} {
		patch.Data[key] = bomb.content()
	}
	text, err := encodeSecret(patch)
	if err != nil {
		return err
	}
	a.tampered++
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: hostileNamespace, Name: record.Name}}
	return client.IgnoreNotFound(a.client.Patch(ctx, secret, client.RawPatch(types.MergePatchType, text)))
}

// bombs are contents of records that are small, and large when they are read. Each is made when it is first used.
var bombs = []struct {
	name    string
	content func() []byte
}{
	{"zeros", bomb("", "\x00", 400<<20, "")},
	{"many objects", bomb("[", "{},", 12_000_000, "{}]")},
	{"many texts", bomb("[", `"",`, 12_000_000, `""]`)},
	{"deep lists", bomb("", "[", 50<<20, "")},
	{"objects within the limit", bomb("[", "{},", 1_900_000, "{}]")},
	{"garbage", func() []byte { return []byte("\x1f\x8bgarbage") }},
	{"nothing", func() []byte { return []byte{} }},
}

func bomb(head, part string, times int, tail string) func() []byte {
	return sync.OnceValue(func() []byte { return zipped(head, part, times, tail) })
}

// zipped returns the gzip of a text that repeats a part.
func zipped(head, part string, times int, tail string) []byte {
	var out bytes.Buffer
	writer, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil
	}
	// A buffer does not fail.
	_, _ = writer.Write([]byte(head))
	const many = 1 << 12
	block := []byte(strings.Repeat(part, many))
	for left := times; left > 0; left -= many {
		_, _ = writer.Write(block[:len(part)*min(left, many)])
	}
	_, _ = writer.Write([]byte(tail))
	_ = writer.Close()
	return out.Bytes()
}
