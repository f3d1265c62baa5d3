package external

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"time"
)

// Defaults of Options.
const (
	DefaultConcurrency = 4
	DefaultRate        = 10.0
	DefaultBurst       = 20
	DefaultTimeout     = 30 * time.Second
	DefaultPoll        = time.Minute
	DefaultSettle      = 5 * time.Second
)

// Bounds of the times in Options. The lower one refuses numbers without a unit.
const (
	minTime = time.Millisecond
	maxCall = time.Hour
	maxPoll = 7 * 24 * time.Hour
)

// kindName is the form of the names of kinds.
var kindName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)

// Options configures the calls of a Kind. The zero value is usable.
type Options[S any] struct {
	// Account names the external system that an external belongs to, such as a host, or the part of it that one call of
	// List returns, such as a zone. Concurrency, Rate and Burst hold for each account. Account must not wait. By default,
	// all externals with equal contents of their references share an account.
	Account func(Ref[S]) string
	// Concurrency is the maximum number of calls at the same time; DefaultConcurrency if zero.
	Concurrency int
	// Rate is the maximum number of calls in a second, DefaultRate if zero, and Burst is the number of calls without a
	// delay, DefaultBurst if zero.
	Rate  float64
	Burst int
	// Timeout is the time-out of a call; DefaultTimeout if zero.
	Timeout time.Duration
	// Poll is the time between two observations of an external; DefaultPoll if zero.
	Poll time.Duration
	// Settle is the time after a write within which ErrNotFound proves nothing; DefaultSettle if zero. A negative value
	// means that the external system shows each write at once.
	Settle time.Duration
	// IdempotentFor is the time within which the external system treats a repeated Create with the same token as one
	// create. By default it is zero, and Create is not repeated after an unknown result. It is not used for a kind with
	// Identify or Find, because these methods show the effect of the call.
	IdempotentFor time.Duration
}

// info returns the description with defaults.
func (o Options[S]) info(kind string) Info {
	return Info{
		Kind: kind, Timeout: o.Timeout, Poll: o.Poll, Settle: o.Settle, IdempotentFor: o.IdempotentFor,
		Concurrency: o.Concurrency, Rate: o.Rate, Burst: o.Burst,
	}.withDefaults()
}

// withDefaults replaces zero times and limits by the defaults of Options, and a negative Settle by zero.
func (i Info) withDefaults() Info {
	i.Concurrency = cmp.Or(i.Concurrency, DefaultConcurrency)
	i.Rate = cmp.Or(i.Rate, DefaultRate)
	i.Burst = cmp.Or(i.Burst, DefaultBurst)
	i.Timeout = cmp.Or(i.Timeout, DefaultTimeout)
	i.Poll = cmp.Or(i.Poll, DefaultPoll)
	i.Settle = max(0, cmp.Or(i.Settle, DefaultSettle))
	return i
}

// Of makes a Driver of a Kind. kind is the kind of the manifests, in CamelCase. Validate reports mistakes in the
// arguments.
//
// The spec of a manifest is converted strictly: an unknown field is an error that names the field. A spec that was
// applied before may contain fields that S no longer has.
//
// A call ends with its context, also if the method of the Kind does not return. Until that method returns, further
// calls for the same external are refused.
func Of[S, O any](kind string, k Kind[S, O], o Options[S]) Driver {
	d := &driver[S, O]{kind: k, options: o, info: o.info(kind)}
	d.creator, d.info.Creates = k.(Creator[S, O])
	d.updater, d.info.Updates = k.(Updater[S, O])
	d.deleter, d.info.Deletes = k.(Deleter[S])
	d.identifier, d.info.Identifies = k.(Identifier[S])
	d.finder, d.info.Finds = k.(Finder[S])
	d.lister, d.info.Lists = k.(Lister[O])
	d.tagged, _ = k.(Tagged[O])
	d.matcher, _ = k.(Matcher[S, O])
	d.immutable, _ = k.(Immutable[S])
	d.validator, _ = k.(Validator[S])
	d.readier, _ = k.(Readier[O])
	d.poller, _ = k.(Poller[O])
	return d
}

// Validate reports the mistakes of drivers that are used together: names of kinds, duplicates, nonsense times and
// limits, and methods of a Kind that have the name, but not the signature, of an optional interface. It returns all
// errors joined. Options.Externals of package component calls it.
func Validate(drivers ...Driver) error {
	var errs []error
	seen := map[string]bool{}
	for n, d := range drivers {
		if isNil(d) {
			errs = append(errs, fmt.Errorf("external driver %d is nil; make one with external.Of", n+1))
			continue
		}
		info := d.Info()
		if seen[info.Kind] {
			errs = append(errs, fmt.Errorf("external kind %s: two drivers handle it; remove one", info.Kind))
		}
		seen[info.Kind] = true
		problems := info.problems()
		if checked, ok := d.(interface{ problems() []error }); ok {
			problems = append(problems, checked.problems()...)
		}
		for _, problem := range problems {
			errs = append(errs, fmt.Errorf("external kind %s: %w", info.Kind, problem))
		}
	}
	return errors.Join(errs...)
}

// problems returns the mistakes in a description.
func (i Info) problems() []error {
	var errs []error
	if !kindName.MatchString(i.Kind) {
		errs = append(errs, errors.New(
			"the name of the kind must begin with a capital letter and have only letters and digits, at most 63"))
	}
	for _, t := range []struct {
		name      string
		time, max time.Duration
		optional  bool
	}{
		{"Timeout", i.Timeout, maxCall, false},
		{"Poll", i.Poll, maxPoll, false},
		{"Settle", i.Settle, maxCall, true},
		{"IdempotentFor", i.IdempotentFor, math.MaxInt64, true},
	} {
		if t.optional && t.time == 0 {
			continue
		}
		if t.time < minTime || t.time > t.max {
			errs = append(errs, fmt.Errorf("%s is %s; set a time from %s to %s", t.name, t.time, minTime, t.max))
		}
	}
	if i.Concurrency < 0 {
		errs = append(errs, fmt.Errorf("%s is %d; set a positive number", "Concurrency", i.Concurrency))
	}
	if !(i.Rate > 0) || math.IsInf(i.Rate, 0) {
		errs = append(errs, fmt.Errorf("%s is %g; set a positive number of calls in a second", "Rate", i.Rate))
	}
	if i.Burst < 0 {
		errs = append(errs, fmt.Errorf("%s is %d; set a positive number", "Burst", i.Burst))
	}
	if i.IdempotentFor > 0 && !i.Creates {
		errs = append(errs, errors.New("IdempotentFor is set, but the kind has no Create"))
	}
	return errs
}

// problems returns the mistakes of a Kind.
func (d *driver[S, O]) problems() []error {
	if isNil(d.kind) {
		return []error{errors.New("the Kind is nil")}
	}
	var errs []error
	for _, optional := range []struct {
		method, name string
		implemented  bool
	}{
		{"Create", "Creator[S, O]", d.creator != nil},
		{"Update", "Updater[S, O]", d.updater != nil},
		{"Delete", "Deleter[S]", d.deleter != nil},
		{"Identify", "Identifier[S]", d.identifier != nil},
		{"Find", "Finder[S]", d.finder != nil},
		{"List", "Lister[O]", d.lister != nil},
		{"Token", "Tagged[O]", d.tagged != nil},
		{"Match", "Matcher[S, O]", d.matcher != nil},
		{"ImmutableChanges", "Immutable[S]", d.immutable != nil},
		{"Validate", "Validator[S]", d.validator != nil},
		{"Ready", "Readier[O]", d.readier != nil},
		{"PollAfter", "Poller[O]", d.poller != nil},
	} {
		if optional.implemented || !slices.Contains(methodsOf(d.kind), optional.method) {
			continue
		}
		errs = append(errs, fmt.Errorf("method %s of %T does not implement external.%s; "+
			"correct its signature or its receiver, or rename it", optional.method, d.kind, optional.name))
	}
	return errs
}

// methodsOf returns the names of the exported methods of a value, and of a pointer to it.
func methodsOf(value any) []string {
	t := reflect.TypeOf(value)
	if t.Kind() != reflect.Pointer {
		t = reflect.PointerTo(t)
	}
	names := make([]string, 0, t.NumMethod())
	for i := range t.NumMethod() {
		names = append(names, t.Method(i).Name)
	}
	return names
}

// isNil reports whether an interface holds nothing or a nil pointer.
func isNil(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}
