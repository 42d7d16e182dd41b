package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mayfly/engine"
	"mayfly/engine/fleet"
	"mayfly/storage/mongo"
	"mayfly/storage/sqlite"
)

// OpenCatalogue is where it is remembered which namespaces there are beside the
// one that a store's URL is for:
//
//	memory:      nowhere: they end with the process
//	sqlite:PATH  in a folder beside the file, see sqlite.Catalogue
//	mongodb://…  in the same database, see mongo.Catalogue
//
// It reaches for nothing yet. Close ends what it has come to use.
func OpenCatalogue(url string, o Options) (fleet.Catalogue, func() error, error) {
	scheme, rest, _ := strings.Cut(url, ":")
	stay := func() error { return nil }
	switch strings.ToLower(scheme) {
	case "memory":
		return forgetful{}, stay, nil
	case "sqlite":
		return sqlite.Catalogue{Path: rest, Logger: o.Logger}, stay, nil
	case "mongodb", "mongodb+srv":
		c := &mongo.Catalogue{URL: url, Clients: o.Clients, Logger: o.Logger}
		return c, c.Close, nil
	default:
		return nil, nil, noStore(url)
	}
}

// Beside is the URL of the store that another namespace is in, and what to open it
// with as Options.Namespace.
func Beside(url string, s fleet.Spec) (at, namespace string) {
	if s.Temporary {
		return "memory:", s.Name
	}
	scheme, rest, _ := strings.Cut(url, ":")
	if strings.EqualFold(scheme, "sqlite") {
		return fmt.Sprintf("%s:%s", scheme, sqlite.Catalogue{Path: rest}.Store(s.Name)), s.Name
	}
	if s.Kept != "" {
		return url, s.Kept
	}
	return url, s.Name
}

// A Place is where the content of a namespace is.
type Place struct {
	URL       string
	Namespace string // for Options.Namespace
	Name      string // what the namespace is called; empty: the URL does not say, and nobody has
}

// Find is where the content of the namespace is that is called name: one beside that
// which url is for, or that one, which whoever serves it calls own. Without a name it is
// that one; without own that goes by any name but those of others. The error says too that
// a file has others beside it and none that is called so.
func Find(ctx context.Context, url, own, name string, o Options) (p Place, err error) {
	scheme, rest, _ := strings.Cut(url, ":")
	file := strings.EqualFold(scheme, "sqlite")
	if own == "" && file {
		own = sqlite.Named(rest)
	}
	if name == "" || strings.EqualFold(name, own) {
		return Place{URL: url, Namespace: own, Name: own}, nil
	}
	c, leave, err := OpenCatalogue(url, o)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, leave()) }()
	all, err := c.List(ctx)
	if err != nil {
		return p, err //nolint:wrapcheck // a sentence
	}
	var names []string
	for _, s := range all {
		if strings.EqualFold(s.Name, name) {
			p.URL, p.Namespace = Beside(url, s)
			p.Name = s.Name
			return p, nil
		}
		names = append(names, s.Name)
	}
	switch {
	case !file:
	case own != "":
		names = append([]string{own}, names...)
		return p, fmt.Errorf("there is no namespace %s in or beside %s, but %s", name, rest, strings.Join(names, ", "))
	case len(names) > 0 && !strings.EqualFold(name, ofNobody):
		return p, fmt.Errorf("there is no namespace %s beside %s, but %s; what is in that file itself is meant without a name", name, rest, strings.Join(names, ", "))
	}
	return Place{URL: url, Namespace: name, Name: name}, nil
}

// ofNobody is what a namespace is called that nobody gave a name.
const ofNobody = "default"

// forgetful is the catalogue of stores that are in memory.
type forgetful struct{}

func (forgetful) List(context.Context) ([]fleet.Spec, error)              { return nil, nil }
func (forgetful) Add(_ context.Context, s fleet.Spec) (fleet.Spec, error) { return s, nil }
func (forgetful) Change(context.Context, fleet.Spec) error {
	return &engine.Refusal{Kind: engine.ErrNotAllowed, Text: "A namespace that is in memory alone keeps the limits that it was made with."}
}

func (forgetful) Remove(_ context.Context, _ fleet.Spec, closed func() error) (string, error) {
	return "", closed()
}
