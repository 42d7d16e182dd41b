package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mayfly/engine"
	"mayfly/engine/namespaces"
	"mayfly/storage/mongo"
	"mayfly/storage/sqlite"
)

// OpenCatalogue returns the catalogue of the namespaces beside the one that a store's URL
// names:
//
//	memory:      always empty, because namespaces in memory end with the process
//	sqlite:PATH  in a folder beside the file, see sqlite.Catalogue
//	mongodb://…  in the same database, see mongo.Catalogue
//
// It does not connect yet. The returned function releases the catalogue's resources.
func OpenCatalogue(url string, o Options) (namespaces.Catalogue, func() error, error) {
	scheme, rest, _ := strings.Cut(url, ":")
	stay := func() error { return nil }
	switch strings.ToLower(scheme) {
	case "memory":
		return memoryCatalogue{}, stay, nil
	case "sqlite":
		return sqlite.Catalogue{Path: rest, Logger: o.Logger}, stay, nil
	case "mongodb", "mongodb+srv":
		c := &mongo.Catalogue{URL: url, Clients: o.Clients, Logger: o.Logger}
		return c, c.Close, nil
	default:
		return nil, nil, unknownSchemeError(url)
	}
}

// StoreURL returns the URL of the store of another namespace, and the name to open it with as
// Options.Namespace.
func StoreURL(url string, s namespaces.Spec) (at, namespace string) {
	if s.Temporary {
		return "memory:", s.Name
	}
	scheme, rest, _ := strings.Cut(url, ":")
	if strings.EqualFold(scheme, "sqlite") {
		return fmt.Sprintf("%s:%s", scheme, sqlite.Catalogue{Path: rest}.StorePath(s.Name)), s.Name
	}
	if s.StoredName != "" {
		return url, s.StoredName
	}
	return url, s.Name
}

// A Location is where a namespace is stored.
type Location struct {
	URL       string
	Namespace string // for Options.Namespace
	Name      string // the namespace's name; empty if unknown
}

// Locate returns where the namespace called name is stored. It is either the namespace in the
// store that url names, called own (empty if its name is unknown), or one in the catalogue
// beside it. An empty name means the store's own namespace. So does a name that is not in the
// catalogue: in a database always, in a file only if own is unknown and either there are no
// other namespaces beside the file or the name is "default". Otherwise the error lists the
// names.
func Locate(ctx context.Context, url, own, name string, o Options) (p Location, err error) {
	scheme, rest, _ := strings.Cut(url, ":")
	file := strings.EqualFold(scheme, "sqlite")
	if own == "" && file {
		own = sqlite.NamespaceOf(rest)
	}
	if name == "" || strings.EqualFold(name, own) {
		return Location{URL: url, Namespace: own, Name: own}, nil
	}
	c, leave, err := OpenCatalogue(url, o)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, leave()) }()
	all, err := c.List(ctx)
	if err != nil {
		return p, err
	}
	var names []string
	for _, s := range all {
		if strings.EqualFold(s.Name, name) {
			p.URL, p.Namespace = StoreURL(url, s)
			p.Name = s.Name
			return p, nil
		}
		names = append(names, s.Name)
	}
	switch {
	case !file:
	case own != "":
		names = append([]string{own}, names...)
		return p, fmt.Errorf("the namespace %s does not exist in or beside %s; choose from %s", name, rest, strings.Join(names, ", "))
	case len(names) > 0 && !strings.EqualFold(name, defaultNamespace):
		return p, fmt.Errorf("the namespace %s does not exist beside %s; choose from %s, or give no name for the namespace in the file itself", name, rest, strings.Join(names, ", "))
	}
	return Location{URL: url, Namespace: name, Name: name}, nil
}

// defaultNamespace is the name of a namespace that was never given one.
const defaultNamespace = "default"

// memoryCatalogue is the catalogue of stores in memory.
type memoryCatalogue struct{}

func (memoryCatalogue) List(context.Context) ([]namespaces.Spec, error) { return nil, nil }
func (memoryCatalogue) Add(_ context.Context, s namespaces.Spec) (namespaces.Spec, error) {
	return s, nil
}
func (memoryCatalogue) Change(context.Context, namespaces.Spec) error {
	return engine.Refuse(engine.ErrNotAllowed, "The limits of a namespace in memory cannot be changed.")
}

func (memoryCatalogue) Remove(_ context.Context, _ namespaces.Spec, closed func() error) (string, error) {
	return "", closed()
}
