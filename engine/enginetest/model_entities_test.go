package enginetest

import (
	"slices"
	"strings"
)

func (w *model) create(kind byte, path string, c config) string {
	topicName, _, isSub := strings.Cut(path, "/Subscriptions/")
	switch e, dead := w.find(path); {
	case dead:
		return "not allowed"
	case isSub != (kind == 's'):
		return "argument"
	case e != nil:
		return "exists"
	}
	top := 0
	for _, e := range w.entities {
		if e.topic == nil {
			top++
		}
	}
	e := &entity{kind: kind, path: path, cfg: c, next: 1, created: w.now, updated: w.now, used: w.now, seen: map[string]int64{}}
	if kind == 's' {
		topic, _ := w.find(topicName)
		switch {
		case topic == nil:
			return "not found"
		case topic.kind != 't':
			return "not allowed"
		case len(w.subscriptions(topic)) >= w.limits.subscriptions:
			return "quota"
		}
		e.topic, e.rules = topic, map[string]bool{"$default": true}
		e.path = topic.path + strings.TrimPrefix(path, topicName)
	} else if top >= w.limits.entities {
		return "quota"
	}
	w.entities = append(w.entities, e)
	w.use(e)
	return ""
}

// admin finds an entity for an administrative operation.
func (w *model) admin(path string) (*entity, string) {
	e, dead := w.find(path)
	switch {
	case dead:
		return nil, "not allowed"
	case e == nil:
		return nil, "not found"
	}
	return e, ""
}

// update changes an entity's description and returns the links that this ended.
func (w *model) update(path string, c config) (ended []uint64, err string) {
	e, err := w.admin(path)
	if err != "" {
		return nil, err
	}
	if c.detects != e.cfg.detects { // PROP-1
		return nil, "argument"
	}
	if c.idle != e.cfg.idle {
		e.pinned = 0
	}
	w.outlived(e) // ids whose window has passed under the old description stay forgotten
	e.cfg, e.updated = c, w.now
	w.use(e)
	if e.kind != 't' && !c.receives() {
		for _, l := range slices.Clone(w.links) {
			if l.in == e {
				ended = append(ended, l.id)
				w.links = slices.DeleteFunc(w.links, func(o *link) bool { return o == l })
			}
		}
	}
	return ended, ""
}

func (w *model) delete(path string) string {
	e, err := w.admin(path)
	if err != "" {
		return err
	}
	w.drop(e)
	if e.topic != nil {
		w.use(e.topic)
	}
	return ""
}

func (w *model) ruled(path string) (*entity, string) {
	e, err := w.admin(path)
	switch {
	case err != "":
		return nil, err
	case e.kind != 's':
		return nil, "not allowed"
	case e.cfg.status == "Disabled" || e.topic.cfg.status == "Disabled": // STAT-9
		return nil, "disabled"
	}
	return e, ""
}

func (w *model) addRule(path, name string, selects bool) string {
	e, err := w.ruled(path)
	if err != "" {
		return err
	}
	if _, ok := e.rules[strings.ToLower(name)]; ok {
		return "exists"
	}
	e.rules[strings.ToLower(name)] = selects
	w.use(e)
	return ""
}

func (w *model) removeRule(path, name string) string {
	e, err := w.ruled(path)
	if err != "" {
		return err
	}
	if _, ok := e.rules[strings.ToLower(name)]; !ok {
		return "not found"
	}
	delete(e.rules, strings.ToLower(name))
	w.use(e)
	return ""
}

func (w *model) touch(path string) string {
	e, err := w.admin(path)
	if err == "" {
		w.use(e)
	}
	return err
}

func (w *model) pin(path string) string {
	e, err := w.admin(path)
	if err != "" {
		return err
	}
	if e.cfg.idle == 0 {
		return "not allowed"
	}
	e.pinned, e.cfg.idle, e.updated = e.cfg.idle, 0, w.now
	w.use(e)
	return ""
}

func (w *model) unpin(path string) string {
	e, err := w.admin(path)
	if err != "" {
		return err
	}
	if e.pinned == 0 {
		return "not allowed"
	}
	e.cfg.idle, e.pinned, e.updated = e.pinned, 0, w.now
	w.use(e)
	return ""
}
