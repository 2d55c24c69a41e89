package converter

import (
	"context"
	"errors"
	"slices"

	"github.com/otlpgw/otlpgw/converter/otlp"
	"github.com/otlpgw/otlpgw/converter/series"
	"github.com/otlpgw/otlpgw/storage"
)

// ResourceTenants says whose the series of each resource of a request are. Each
// tenant gets a transaction of its own. The request is answered by the worst of
// them: when one must be sent again, those that were acknowledged know it.
type ResourceTenants struct {
	// Attributes are the resource attributes that name a tenant: the first of
	// them that is there and not empty counts.
	Attributes []string
	// Fallback names the tenant of resources without any of them; it may be
	// empty.
	Fallback string
	// Admit returns the tenant behind a name, as a string that may be kept for
	// good, or why it is not served. The points of such resources are rejected;
	// when no resource of the request is served, Push returns the first of these
	// errors. It may be called for one name several times.
	Admit func(name string) (string, error)
}

// composite stands for the name that a list or a map would be: no tenant has
// it.
const composite = "[...]"

// nameIn returns the name that a resource's attributes say, and checks the
// frames of all of them. Of two with one key the last counts, as it does for
// job and instance.
func (t *ResourceTenants) nameIn(resource []byte) (string, *otlp.Error) {
	name, best := t.Fallback, len(t.Attributes)
	list, err := otlp.ParseResource(resource)
	if err != nil {
		return "", err
	}
	for {
		b, ok := list.Next()
		if !ok {
			return name, nil
		}
		key, v, err := otlp.ParseKeyValue(b)
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(t.Attributes, func(s string) bool { return s == string(key) })
		if i < 0 || i > best {
			continue
		}
		text := composite
		if v.Kind != otlp.ArrayKind && v.Kind != otlp.MapKind {
			text = string(v.AppendText(nil))
		}
		if text != "" {
			name, best = text, i
		}
	}
}

// share is what one tenant has in a request: a transaction.
type share struct {
	c       *converter
	err     error
	settled bool
}

// shares is a request that is cut by tenant.
type shares struct {
	p    *Pipeline
	ctx  context.Context
	req  Request
	body []byte

	all []*share
	by  map[string]*share // by the names that were admitted
	// denied counts the points of resources that are not served, nil without any.
	denied *converter
	denial error // the first
	built  int   // bytes of new series so far, which all share one bound on
}

// pushShares is Push for a request whose resources name their tenants. All are
// converted before the first is committed: a torn frame stores nothing.
func (p *Pipeline) pushShares(ctx context.Context, req Request, body []byte, slot *slot) (Report, error) {
	s := &shares{p: p, ctx: ctx, req: req, body: body, by: map[string]*share{}}
	defer s.abandon()
	if fault := s.walk(); fault != nil {
		err := (&converter{body: body}).decodeError(fault)
		for _, sh := range s.all {
			sh.c.unhold()
			sh.settle(p.rollback(sh.c, nil))
		}
		return Report{}, err
	}
	if len(s.all) == 0 && s.denial != nil {
		return Report{}, s.denial
	}
	for _, sh := range s.all {
		if err := sh.c.append(); err != nil {
			// The others do not wait for a tenant whose store is away.
			sh.settle(p.rollback(sh.c, unavailable(err)))
		}
	}
	slot.release()
	s.commit()
	return s.result()
}

// walk hands every resource to its tenant's converter.
func (s *shares) walk() *otlp.Error {
	resources, err := otlp.Request(s.body)
	if err != nil {
		return err
	}
	var scratch otlp.Scratch
	for {
		b, ok := resources.Next()
		if !ok {
			return nil
		}
		rm, err := otlp.ParseResourceMetrics(b, &scratch)
		if err != nil {
			return err
		}
		name, err := s.req.ResourceTenants.nameIn(rm.Resource)
		if err != nil {
			return err
		}
		if err := s.resource(&rm, name); err != nil {
			return err
		}
	}
}

// resource stages the points of a resource in the share of the tenant with
// that name.
func (s *shares) resource(rm *otlp.ResourceMetrics, name string) *otlp.Error {
	sh := s.by[name]
	if sh == nil {
		tenant, denial := s.req.ResourceTenants.Admit(name)
		if denial != nil {
			return s.deny(rm, denial)
		}
		sh = &share{c: s.p.begin(s.ctx, s.req, s.body, tenant)}
		s.all = append(s.all, sh)
		s.by[tenant] = sh
	}
	c := sh.c
	c.built = s.built
	if err := c.resource(rm); err != nil {
		return err
	}
	c.unhold()
	s.built = c.built
	return nil
}

// deny counts the points of a resource whose tenant is not served as rejected.
// Nothing of them is remembered.
func (s *shares) deny(rm *otlp.ResourceMetrics, denial error) *otlp.Error {
	if s.denied == nil {
		s.denied, s.denial = s.p.checkOut(), denial
		s.denied.begin(s.body, nil, s.p.cache.Tenant(""), 0, s.p.cache.Epoch(), s.p.opts.Now().UnixMilli())
	}
	c := s.denied
	c.denial = denial.Error()
	nobody := &sender{tenant: c.tenant, budget: c.opts.budget, families: c.opts.families, reject: ReasonTenant}
	if err := c.scopes(series.Alone(nobody, 0), rm); err != nil {
		return err
	}
	c.unhold()
	return nil
}

// commit commits the shares that are not settled, at the same time: none waits
// for another's far end. A panic among them is the caller's.
func (s *shares) commit() {
	caught := make(chan any)
	n := 0
	for _, sh := range s.all {
		if sh.settled {
			continue
		}
		n++
		go func() {
			defer func() { caught <- recover() }()
			sh.settle(s.p.commit(sh.c))
		}()
	}
	var first any
	for range n {
		if v := <-caught; v != nil && first == nil {
			first = v
		}
	}
	if first != nil {
		panic(first)
	}
}

// result counts what was settled and returns the worst of all answers.
func (s *shares) result() (Report, error) {
	var all report
	var worst error
	for _, sh := range s.all {
		if sh.err != nil {
			worst = worse(worst, sh.err)
			continue
		}
		s.p.count(sh.c)
		all.merge(&sh.c.report, sh.c.tenant.Name)
	}
	if worst != nil {
		return Report{}, worst
	}
	if s.denied != nil {
		s.p.count(s.denied)
		all.merge(&s.denied.report, "")
	}
	return all.result(), nil
}

// abandon gives everything back. What is not settled by then is what a panic
// left behind: nothing of it is kept.
func (s *shares) abandon() {
	if s.denied != nil {
		s.denied.unhold()
		s.p.checkIn(s.denied)
	}
	for _, sh := range s.all {
		if sh.settled {
			s.p.end(sh.c)
			continue
		}
		sh.c.unhold()
		_ = sh.c.app.Rollback()
		sh.c.settle(false)
	}
}

func (sh *share) settle(err error) { sh.err, sh.settled = err, true }

// worse returns the error that decides: a bug of ours before a store that is
// away, that before one that is too busy, and of two alike the longer pause.
func worse(a, b error) error {
	if a == nil {
		return b
	}
	var x, y *storage.Error
	switch {
	case !errors.As(a, &x):
		return a
	case !errors.As(b, &y):
		return b
	case x.Kind != y.Kind:
		if x.Kind == storage.KindUnavailable {
			return a
		}
		return b
	case y.RetryAfter > x.RetryAfter:
		return b
	}
	return a
}
