// A worker of asynq; with "send", gives it a job. Usage: asynq PORT [send]
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hibiken/asynq"
)

func main() {
	redis := asynq.RedisClientOpt{Addr: "127.0.0.1:" + os.Args[1]}
	if len(os.Args) > 2 {
		client := asynq.NewClient(redis)
		fmt.Println("sent")
		if _, err := client.Enqueue(asynq.NewTask("hello", nil)); err != nil {
			panic(err)
		}
		return
	}
	server := asynq.NewServer(redis, asynq.Config{Concurrency: 1})
	jobs := asynq.NewServeMux()
	jobs.HandleFunc("hello", func(context.Context, *asynq.Task) error {
		fmt.Println("job done")
		return nil
	})
	if err := server.Start(jobs); err != nil {
		panic(err)
	}
	fmt.Println("ready")
	select {}
}
