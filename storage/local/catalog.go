package local

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	promstorage "github.com/prometheus/prometheus/storage"
)

// catalog keeps the latest metadata of each metric family: in memory, and in a
// file that is written when the store closes and now and then before. Killing
// the process loses at most what is newer than the file, until the next request
// brings it again. It is safe for concurrent use.
type catalog struct {
	path    string
	max     int
	logger  *slog.Logger
	metrics *metrics

	mu       sync.RWMutex
	families map[string]metadata.Metadata
	bytes    int // Of the strings in families.
	dirty    bool
	full     bool

	saving sync.Mutex
}

// family is one entry, also as a line of the file.
type family struct {
	Metric string           `json:"metric"`
	Type   model.MetricType `json:"type"`
	Help   string           `json:"help,omitempty"`
	Unit   string           `json:"unit,omitempty"`
}

const (
	catalogFile = "metadata.jsonl"
	// catalogInterval is how often the file is written if something changed.
	catalogInterval = time.Minute
	// maxHelp bounds what is kept of a HELP text in bytes. It is for people.
	maxHelp = 4 << 10
	// maxCatalogBytes bounds the texts of all families together: enough for
	// 100 000 families with some 600 bytes each.
	maxCatalogBytes = 64 << 20
	// maxCatalogLine bounds what is read back: a family name, its help, escapes.
	maxCatalogLine = 1 << 20
)

func openCatalog(o Options, logger *slog.Logger, m *metrics) *catalog {
	c := &catalog{
		path:     filepath.Join(o.Dir, catalogFile),
		max:      o.MaxMetadata,
		logger:   logger,
		metrics:  m,
		families: map[string]metadata.Metadata{},
	}
	if err := c.load(); err != nil {
		// Metadata is help for people and comes again with the next requests.
		logger.Warn("Metadata of earlier runs could not be read in full", "file", c.path, "err", err)
	}
	m.families.Set(float64(len(c.families)))
	return c
}

func (c *catalog) load() error {
	f, err := os.Open(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // Nothing was written to it.
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxCatalogLine)
	for lines.Scan() && len(c.families) < c.max {
		var e family
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return err
		}
		c.put(e)
	}
	return lines.Err()
}

// put keeps an entry if there is room for it. The caller holds mu.
func (c *catalog) put(f family) bool {
	old, ok := c.families[f.Metric]
	grow := len(f.Help) + len(f.Unit)
	if ok {
		grow -= len(old.Help) + len(old.Unit)
	} else {
		grow += len(f.Metric)
	}
	if !ok && len(c.families) >= c.max || grow > 0 && c.bytes+grow > maxCatalogBytes {
		return false
	}
	c.bytes += grow
	c.families[f.Metric] = metadata.Metadata{Type: f.Type, Help: f.Help, Unit: f.Unit}
	return true
}

// note appends what a sample says about its family, if it is news, to the
// transaction's list. It keeps none of the caller's memory that it may not.
func (c *catalog) note(list []family, ls labels.Labels, opts promstorage.AppendV2Options) []family {
	name := opts.MetricFamilyName
	if name == "" {
		name = ls.Get(model.MetricNameLabel)
	}
	help := opts.Metadata.Help
	if len(help) > maxHelp {
		help = strings.ToValidUTF8(help[:maxHelp], "")
	}
	c.mu.RLock()
	have, ok := c.families[name]
	full := c.full
	c.mu.RUnlock()
	if ok && have.Type == opts.Metadata.Type && have.Help == help && have.Unit == opts.Metadata.Unit || !ok && full {
		return list
	}
	if n := len(list); n > 0 && list[n-1].Metric == name {
		list = list[:n-1] // The series of one point follow each other.
	}
	return append(list, family{strings.Clone(name), opts.Metadata.Type, help, opts.Metadata.Unit})
}

// set takes the list over.
func (c *catalog) set(list []family) {
	if len(list) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range list {
		switch {
		case c.put(f):
			c.dirty = true
		case !c.full:
			c.full = true
			c.logger.Warn("Metadata of further metric families is not kept", "families", len(c.families), "bytes", c.bytes)
		}
	}
	c.metrics.families.Set(float64(len(c.families)))
}

func (c *catalog) get(name string) map[string]metadata.Metadata {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if name == "" {
		return maps.Clone(c.families)
	}
	if m, ok := c.families[name]; ok {
		return map[string]metadata.Metadata{name: m}
	}
	return map[string]metadata.Metadata{}
}

// run writes the file from time to time, until ctx ends.
func (c *catalog) run(ctx context.Context) {
	tick := time.NewTicker(catalogInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := c.save(); err != nil {
				c.logger.Warn("Metadata could not be saved", "err", err)
			}
		}
	}
}

// save writes the file, if something changed, in a way that leaves the old one
// or the new one.
func (c *catalog) save() error {
	c.saving.Lock()
	defer c.saving.Unlock()
	c.mu.Lock()
	dirty := c.dirty
	c.dirty = false
	families := c.families
	if dirty {
		families = maps.Clone(c.families)
	}
	c.mu.Unlock()
	if !dirty {
		return nil
	}
	if err := writeCatalog(c.path, families); err != nil {
		c.mu.Lock()
		c.dirty = true
		c.mu.Unlock()
		return fmt.Errorf("save metadata: %w", err)
	}
	return nil
}

func writeCatalog(path string, families map[string]metadata.Metadata) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), catalogFile+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriter(f)
	enc := json.NewEncoder(w)
	for name, m := range families {
		if err := enc.Encode(family{name, m.Type, m.Help, m.Unit}); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
