// A worker of BullMQ; with "send", gives it a job. Usage: bullmq.js PORT [send]
const { Queue, Worker } = require('bullmq')
const connection = { host: '127.0.0.1', port: Number(process.argv[2]), maxRetriesPerRequest: null }
if (process.argv[3] === 'send') {
  const queue = new Queue('jobs', { connection })
  queue.waitUntilReady().then(async () => {
    console.log('sent')
    await queue.add('hello', {})
    await queue.close()
  })
} else {
  const worker = new Worker('jobs', async () => { console.log('job done') }, { connection })
  worker.on('ready', () => console.log('ready'))
  process.on('SIGTERM', async () => {
    await worker.close()
    process.exit(0)
  })
}
