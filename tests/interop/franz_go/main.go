// Drive franz-go as its users do: main MODE BOOTSTRAP TOPIC GROUP RECORDS.
//
// Writes so many records and reads them with three members of a group: one comes later, one leaves
// early. MODE is the protocol of the group: classic, consumer or share. With "transactions", the
// members of a classic group copy the records to TOPIC-copy exactly once. Prints how many records
// were read, and how many of them were read again.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var (
	mode, bootstrap, topic, group = os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	total, _                      = strconv.Atoi(os.Args[5])
	ctx, cancel                   = context.WithTimeout(context.Background(), time.Minute)
	reading, stopReading          = context.WithCancel(ctx)
	all                           = seen{times: map[string]int{}}
	members                       sync.WaitGroup
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// seen counts what all members have read.
type seen struct {
	sync.Mutex
	times map[string]int
	again int
}

func (s *seen) add(records []*kgo.Record) int {
	s.Lock()
	defer s.Unlock()
	for _, record := range records {
		if s.times[string(record.Value)]++; s.times[string(record.Value)] > 1 {
			s.again++
		}
	}
	return len(s.times)
}

func produce() {
	producer, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.DefaultProduceTopic(topic))
	must(err)
	defer producer.Close()
	for n := 0; n < total; n++ {
		text := []byte(strconv.Itoa(n))
		producer.Produce(ctx, &kgo.Record{Key: text, Value: text},
			func(_ *kgo.Record, err error) { must(err) })
	}
	must(producer.Flush(ctx))
}

func options(name string) []kgo.Opt {
	common := []kgo.Opt{kgo.SeedBrokers(bootstrap), kgo.ConsumeTopics(topic), kgo.ClientID(name)}
	if mode == "share" {
		return append(common, kgo.ShareGroup(group), kgo.ShareMaxRecords(20), kgo.ShareMaxRecordsStrict())
	}
	start := kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())
	common = append(common, kgo.ConsumerGroup(group), start, kgo.HeartbeatInterval(100*time.Millisecond))
	switch mode {
	case "consumer":
		return append(common, kgo.ServerSideBalancer())
	case "transactions":
		return append(common, kgo.TransactionalID(group+name), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	return common
}

// poll returns the next few records, nil when there is no more to read.
func poll(client interface {
	PollRecords(context.Context, int) kgo.Fetches
}) []*kgo.Record {
	fetches := client.PollRecords(reading, 20)
	if reading.Err() != nil {
		return nil
	}
	must(fetches.Err())
	time.Sleep(5 * time.Millisecond) // so that the others get their share
	return fetches.Records()
}

// follow counts records, and tells whether a member goes on.
func follow(records []*kgo.Record, leaveAt int) bool {
	count := all.add(records)
	if count == total {
		stopReading()
	}
	return records != nil && count < leaveAt
}

func read(name string, leaveAt int) {
	defer members.Done()
	client, err := kgo.NewClient(options(name)...)
	must(err)
	defer client.Close()
	for follow(poll(client), leaveAt) {
		client.MarkAcks(kgo.AckAccept) // only in a share group
	}
	client.MarkAcks(kgo.AckAccept)
	if mode == "share" {
		must(client.FlushAcks(ctx))
	} else {
		must(client.CommitUncommittedOffsets(ctx))
	}
}

func copyExactlyOnce(name string, leaveAt int) {
	defer members.Done()
	session, err := kgo.NewGroupTransactSession(options(name)...)
	must(err)
	defer session.Close()
	for goesOn := true; goesOn; {
		records := poll(session)
		must(session.Begin())
		for _, record := range records {
			session.Produce(ctx, &kgo.Record{Topic: topic + "-copy", Value: record.Value},
				func(_ *kgo.Record, err error) {})
		}
		committed, err := session.End(ctx, kgo.TryCommit)
		must(err)
		if !committed {
			records = []*kgo.Record{}
		}
		goesOn = follow(records, leaveAt)
	}
}

func main() {
	defer cancel()
	produce()
	member := read
	if mode == "transactions" {
		member = copyExactlyOnce
	}
	members.Add(3)
	go member("early", total/2)
	go member("steady", total+1)
	for all.add(nil) < total/4 && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	go member("late", total+1)
	members.Wait()
	must(ctx.Err())
	fmt.Println(len(all.times), all.again)
}
