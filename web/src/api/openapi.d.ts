// Generated from docs/openapi.json by `npm run types`.
export interface paths {
    "/api/v1/admin/checkpoint": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** How far the log is signed: the writer signs by itself as the log grows, and this tells where it is. */
        post: operations["checkpoint"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The whole log as lines of JSON, as `callboard export` writes it. */
        get: operations["export"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/import-legacy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take in rows from before there were states: one `{"legacy":{"kind","title","data"}}` a line. */
        post: operations["import_legacy"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/info": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the store says of itself. */
        get: operations["info"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/reap": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End the runs whose supervisor is dead, and remove what supervisors left that died before their first record. */
        post: operations["reap"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/vacuum": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give back the space that is not needed. */
        post: operations["vacuum"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/admin/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Check every record, as `callboard verify` does. */
        post: operations["verify"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/attention": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What needs somebody, the most urgent and oldest first. */
        get: operations["attention"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/board": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The task board: a column for each state, with how many tasks are in it and their cards. */
        get: operations["task_board"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/counts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How many entities stand in each state of each machine. */
        get: operations["counts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/entities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List entities: what is alive, and with `ended=true` what ended too. */
        get: operations["list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/entities/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One entity as it stands, or as it stood. */
        get: operations["one"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/entities/{id}/abort": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Abort the open tool call of a run, the siblings of a run or task, or a whole tree; what is stopped has ended when its state says so. */
        post: operations["abort"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/entities/{id}/artifacts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a run promised, where, and what became of it. */
        get: operations["overview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/entities/{id}/artifacts/{path}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One file that a run left behind, as a download. */
        get: operations["file"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/entities/{id}/children": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What belongs to an entity, the oldest first; at most 500. */
        get: operations["children"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/entities/{id}/dismiss": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Put what needs somebody off until its condition changes. */
        post: operations["dismiss"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/entities/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The records of one entity as they are written, then `done` when it has ended. */
        get: operations["of_entity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/entities/{id}/heartbeat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Say from inside a run that it lives. */
        post: operations["heartbeat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/entities/{id}/notes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Write something down about an entity. */
        post: operations["note"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/entities/{id}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a run wrote, from an offset on. */
        get: operations["pieces"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/entities/{id}/output/{stream}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One stream of a run, byte for byte, whole or a range of it. */
        get: operations["raw"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/entities/{id}/records": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The records of an entity, the oldest first. */
        get: operations["records"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/entities/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Run again what was run: the same command, in the same directory, with the same options. */
        post: operations["retry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/entities/{id}/snooze": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Put what needs somebody off for a while. */
        post: operations["snooze"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/entities/{id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ask a run to stop; it has ended when its state says so. */
        post: operations["stop"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/entities/{id}/transition": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Move an entity to another state by hand. */
        post: operations["transition"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/entities/{id}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take a snooze or a dismissal back. */
        post: operations["undo"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Every record as it is written.
         * @description Each is `id: SEQ`, `event: record`, `data: Record`. `look` has no id and says that something is judged differently
         *     although nothing was recorded, such as a run whose supervisor was killed: `data` is what `/entities/{id}` answers.
         *     `missed` says that more changed this way than is told one by one: read again what you show. `behind` says that the log
         *     is being read because the reader was too slow; `reset` says that the place that was named does not exist.
         */
        get: operations["all"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How the store, the runs and the feed are. */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/machines": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every state machine, as `callboard machines --json` prints them. */
        get: operations["machines"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/questions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The questions that wait for a person, the oldest first; with `all`, the newest of all. */
        get: operations["inbox"];
        put?: never;
        /** Ask a person. */
        post: operations["ask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/questions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One question; with `wait_s`, once it is answered or that time is over. */
        get: operations["question"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/questions/{id}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answer a question; the first answer counts. */
        post: operations["answer_question"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/questions/{id}/withdraw": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take a question back that the caller asked. */
        post: operations["withdraw_question"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/reasons": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every reason code and what it means. */
        get: operations["reasons"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The standing rules, which answer questions in the name of whoever made them. */
        get: operations["rules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/rules/{id}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Revoke a standing rule. */
        post: operations["revoke_rule"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a run in the background. */
        post: operations["start"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/services": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What happens by itself, and whether it does. */
        get: operations["services"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Add a task, open to be claimed. */
        post: operations["add_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Claim the next task that fits, for a worker of yours; 204 if none does. */
        post: operations["claim_next_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change a task that nobody works on. */
        patch: operations["edit_task"];
        trace?: never;
    };
    "/api/v1/tasks/{id}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Approve a plan or a result that waits for a person. */
        post: operations["approve_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/block": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Say that a task cannot go on without something that is not there. */
        post: operations["block_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Call a task off, with everything that belongs to it. */
        post: operations["cancel_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Claim one task, for a worker of yours. */
        post: operations["claim_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a task changed, file by file: its merge, or its branch while it is not merged. The repository must be on the host of the server. */
        get: operations["diff_task"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/done": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Say that a task is done; it is verified next. */
        post: operations["done_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/fail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Say that the attempt failed; the task is tried again if a retry is left. */
        post: operations["fail_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/heartbeat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Say that the worker is there: its claim goes on. */
        post: operations["heartbeat_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/progress": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Say how far the work is. */
        post: operations["progress_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reject a plan or a result that waits for a person. */
        post: operations["reject_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give a task back to the board. */
        post: operations["release_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Let a failed task be tried once more. */
        post: operations["retry_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/split": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Split a task into parts that it waits for. */
        post: operations["split_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Say that the work on a task has begun. */
        post: operations["start_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/story": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The whole story of a task: its view, claims, turns, runs, verdicts and merge. */
        get: operations["story_task"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{id}/unblock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Say that what a task waits for is there. */
        post: operations["unblock_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/trends": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How it went, by hour or by day. */
        get: operations["trends"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/vocabulary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Every word people see, with its label, icon and colour token, and the colours of both themes. */
        get: operations["vocabulary"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The workers of the board: at work, stalled, merging, idle or gone, and why. */
        get: operations["task_workers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description How far, and why. */
        Abort: {
            /** @description Why, in a sentence; it is recorded of everything that is stopped. */
            because: string;
            /** @description Only list what would be stopped? */
            dry_run?: boolean;
            /** @description tool, sibling or session. */
            scope: string;
        };
        /** @description What is stopped. */
        Aborted: {
            /** @description Was nobody asked? */
            dry_run: boolean;
            /** @description The one that was named. */
            id: string;
            /** @description How far it reaches. */
            scope: string;
            /** @description Those that are stopped, in the order in which they are asked. */
            targets: components["schemas"]["AbortedTarget"][];
            /** @description The tool call that is aborted. */
            tool?: string | null;
        };
        /** @description One that is stopped. */
        AbortedTarget: {
            /** @description How far it is below the one that the walk began at. */
            depth: number;
            /** @description The host it is on. */
            host?: string | null;
            /** @description Its ID. */
            id: string;
            /** @description What it is called. */
            title?: string | null;
            /** @description named, sibling or descendant. */
            why: string;
        };
        /** @description What can be done about it. */
        Action: {
            /** @description The command that does it. */
            command: string;
            /** @description What it is called. */
            name: string;
        };
        /** @description Who asked for it. */
        ActorRef: {
            /** @description Its name. */
            id: string;
            /** @description The class of the actor. */
            type: string;
        };
        /** @description Answers a question. */
        AnswerRequest: {
            /** @description Makes a standing rule of the answer: one of the scopes that the question lists. */
            always?: string | null;
            /** @description Why; whoever asked is told. */
            because?: string | null;
            /** @description One of its options, or any text if it has none. */
            option: string;
        };
        /** @description A person approves a plan or a result. */
        ApprovalRequest: {
            /** @description Why, in a sentence. */
            because?: string | null;
            /** @description The other tasks of its plan too? */
            whole_plan?: boolean;
        };
        /** @description What it promised, where, and what became of it. */
        Artifacts: {
            /** @description What it promised. */
            contract?: unknown;
            /** @description Where. */
            dir?: unknown;
            /** @description What was found. */
            verification?: unknown;
        };
        /** @description Asks a person: the body of `POST /questions`, and what `callboard ask` and the MCP tool `ask` are told. */
        AskRequest: {
            /** @description Those who may answer, by name; everybody who may decide unless given. */
            answerers?: string[];
            /** @description What will happen, or what the person should look at: a command, a diff, a plan. */
            context?: string | null;
            /**
             * Format: double
             * @description After how many seconds the asker stops waiting; never unless given.
             */
            expires_s?: number | null;
            /** @description What happens then: hold (the question stays), deny, or one of the options, unless it reads like a yes; hold unless given. */
            on_expiry?: string | null;
            /** @description The answers to choose from; any text is an answer if there are none. */
            options?: string[];
            /** @description What it is about: the ID of a run or a task; the run or the task of the caller unless given. */
            subject?: string | null;
            /** @description The question, with everything that a person needs to answer it. */
            text: string;
        };
        /** @description What needs somebody. */
        Attention: {
            /** @description How many of each severity. */
            by_severity: {
                [key: string]: number;
            };
            /** @description Since when nothing has needed anybody; null while something does. */
            clear_since?: string | null;
            /** @description When it was judged. */
            generated_at: string;
            /**
             * Format: int64
             * @description Everything up to this record is in it.
             */
            head: number;
            /** @description The most urgent, then the oldest. */
            items: components["schemas"]["AttentionItem"][];
            /**
             * Format: int64
             * @description How many more were put off or dismissed.
             */
            set_aside: number;
            /**
             * Format: int64
             * @description How many need somebody, shown or not.
             */
            total: number;
        };
        /** @description One thing that needs somebody. */
        AttentionItem: {
            /** @description What can be done about it. */
            actions: components["schemas"]["Action"][];
            /** @description Its state as people read it. */
            chain: string;
            /** @description What belongs together. */
            cluster: string;
            /**
             * Format: int64
             * @description How many belong together.
             */
            cluster_size: number;
            /** @description Somebody dismissed it. */
            dismissed: boolean;
            /** @description What it is about. */
            entity: components["schemas"]["Subject"];
            /** @description The same condition of the same entity has the same one. */
            fingerprint: string;
            /** @description Since when. */
            first_seen_at?: string | null;
            reason?: components["schemas"]["Cause"] | null;
            /** @description How urgent. */
            severity: string;
            /** @description Until when it was put off. */
            snoozed_until?: string | null;
            /** @description How its badge is coloured. */
            tone: string;
        };
        /** @description The task needs something that is not there. */
        BlockRequest: {
            /** @description Why it cannot go on, in a sentence. */
            because: string;
            /**
             * @description What it waits for: the ID of a task, with :ended behind it also if that task fails; person:TEXT; time:RFC3339; or other
             *     words, which a person says are there.
             */
            by: string[];
            /**
             * Format: int64
             * @description Only if the claim is still this one.
             */
            epoch?: number | null;
        };
        /** @description The task board. */
        Board: {
            /** @description One for each state of a task, in the order of its life. */
            columns: components["schemas"]["BoardColumn"][];
            /**
             * Format: int64
             * @description Everything up to this record is in the answer.
             */
            head: number;
        };
        /** @description The tasks in one state. */
        BoardColumn: {
            /**
             * Format: int64
             * @description How many tasks that fit are in it.
             */
            count: number;
            /** @description The tasks: by priority, then the oldest first; of those that are over, the newest first. */
            items: components["schemas"]["TaskCard"][];
            /** @description The state. */
            state: string;
        };
        /** @description How it went in one span of time. */
        BucketReport: {
            /** @description When it begins. */
            from: string;
            /** @description How many ended, by outcome. */
            outcomes: {
                [key: string]: number;
            };
            /**
             * Format: double
             * @description The median of how long they took, in seconds.
             */
            p50_s?: number | null;
            /**
             * Format: double
             * @description What 95 of 100 stayed below, in seconds.
             */
            p95_s?: number | null;
        };
        /** @description Why it needs somebody. */
        Cause: {
            /** @description The registered code. */
            code: string;
            /** @description What happened, in words. */
            message: string;
        };
        /** @description How far the log is signed. */
        CheckpointAnswer: {
            /** Format: int64 */
            checkpoints: number;
            /** Format: int64 */
            head: number;
        };
        /** @description What belongs to one entity. */
        Children: {
            items: components["schemas"]["View"][];
        };
        /** @description Claims one task. */
        ClaimOneRequest: {
            /**
             * Format: double
             * @description How long the claim lasts without a heartbeat, in seconds; 1800 unless given.
             */
            lease_s?: number | null;
            /** @description What the worker is called that claims it; a worker of this name that is idle is used again. */
            worker?: string | null;
        };
        /** @description Claims the next task that fits. */
        ClaimRequest: {
            /** @description Only a task with all of these labels. */
            labels?: {
                [key: string]: string;
            };
            /**
             * Format: double
             * @description How long the claim lasts without a heartbeat, in seconds; 1800 unless given.
             */
            lease_s?: number | null;
            /** @description Only a task in one of these repositories or in none; any unless given. */
            repos?: string[];
            /** @description Only a task for this role or for nobody in particular; any task unless given. */
            role?: string | null;
            /** @description What the worker is called that claims it; a worker of this name that is idle is used again. */
            worker?: string | null;
        };
        /** @description How many stand where. */
        CountsAnswer: {
            /** Format: int64 */
            ended_24h: number;
            /** Format: int64 */
            legacy: number;
            /** Format: int64 */
            live: number;
            machines: components["schemas"]["MachineCount"][];
        };
        /** @description A person decides something, and may say why. */
        DecisionRequest: {
            /** @description Why, in a sentence. */
            because?: string | null;
        };
        /** @description The work is done; it is verified next. */
        DoneReport: {
            /**
             * Format: int64
             * @description Only if the claim is still this one.
             */
            epoch?: number | null;
            /** @description What shows it: a commit, a file, the end of a test run; the summary unless given. */
            evidence?: string | null;
            /** @description What was done, in a sentence. */
            summary: string;
        };
        /** @description A page of entities. */
        EntityPage: {
            /**
             * Format: int64
             * @description Everything up to this record is in the answer.
             */
            head: number;
            items: components["schemas"]["View"][];
            /**
             * Format: int64
             * @description How many rows there are from before there were states.
             */
            legacy: number;
            /** @description Where the next page begins; nothing if this is the last one. */
            next_cursor?: string | null;
            /**
             * Format: int64
             * @description How many there are on all pages, where that is known.
             */
            total?: number | null;
        };
        /** @description An entity by name. */
        EntityRef: {
            /** @description Its id. */
            id: string;
            /** @description Its kind. */
            kind: string;
        };
        /** @description How its process ended. */
        Exit: {
            /** @description The exit code. */
            code?: unknown;
            /** @description Did memory run out? */
            oom?: unknown;
            /** @description The signal that ended it. */
            signal?: unknown;
            /** @description Did its own clock end it? */
            timed_out?: boolean | null;
        };
        /** @description The attempt failed. */
        FailReport: {
            /**
             * Format: int64
             * @description Only if the claim is still this one.
             */
            epoch?: number | null;
            /** @description What shows it: an error message, a file, the end of a test run; the message unless given. */
            evidence?: string | null;
            /** @description Would every further attempt fail the same way? Then a person decides what follows, and there is no retry. */
            is_final?: boolean;
            /** @description What went wrong, in a sentence. */
            message: string;
        };
        /** @description A file that differs. */
        FileDiff: {
            /**
             * Format: int64
             * @description How many lines were added; null for a file that is not text.
             */
            added?: number | null;
            /** @description Was the patch or its end left out, because it is too long? */
            is_cut: boolean;
            /** @description The path that it had before, if it was renamed. */
            old_path?: string | null;
            /** @description The patch; null if all of it was left out. */
            patch?: string | null;
            /** @description Its path. */
            path: string;
            /**
             * Format: int64
             * @description How many lines were removed; null for a file that is not text.
             */
            removed?: number | null;
            /** @description How it differs: added, deleted, modified or renamed. */
            status: string;
        };
        /** @description A place in a group of records that were recorded together. */
        GroupMember: {
            /**
             * Format: int32
             * @description Counted from 0.
             */
            at: number;
            /**
             * Format: int32
             * @description How many there are.
             */
            of: number;
        };
        /** @description How it is. */
        HealthAnswer: {
            processes: components["schemas"]["Processes"];
            runs: components["schemas"]["Runs"];
            /** @description ok or degraded. */
            status: string;
            store: unknown;
            streams: components["schemas"]["Streams"];
            writer: components["schemas"]["WriterAnswer"];
        };
        /** @description A sign of life. */
        Heartbeat: {
            /** @description Something came of it. */
            progress?: boolean;
            /** @description What it is doing, in a few words. */
            status?: string | null;
        };
        /** @description A task that is held. */
        Hold: {
            /**
             * Format: int64
             * @description Which claim of the task it is. Send it with every act, and an act after the claim was lost is refused.
             */
            epoch: number;
            /** @description The task. */
            task: string;
            /** @description The turn in which it is handled. */
            turn: string;
            /** @description Until when the claim lasts without a heartbeat. */
            until?: string | null;
            /** @description The worker that holds it. */
            worker: string;
        };
        /** @description Questions, the oldest first. */
        Inbox: {
            /** @description The questions. */
            items: components["schemas"]["Question"][];
        };
        /** @description The worker is there: its claim goes on. */
        LeaseRenewal: {
            /**
             * Format: int64
             * @description Only if the claim is still this one.
             */
            epoch?: number | null;
            /**
             * Format: double
             * @description How long the claim lasts from here on, in seconds; 1800 unless given.
             */
            lease_s?: number | null;
        };
        /** @description How many of a kind stand where. */
        MachineCount: {
            kind: string;
            states: components["schemas"]["StateCount"][];
        };
        /** @description A move. */
        Move: {
            /** @description What is recorded with it; a state may require some of it. */
            data?: {
                [key: string]: unknown;
            };
            /**
             * Format: int64
             * @description Only if it has exactly this version.
             */
            if_version?: number | null;
            /** @description The same as the header Idempotency-Key. */
            key?: string | null;
            /** @description Why, in words. */
            message: string;
            /** @description Why, as a code. */
            reason: string;
            /** @description The state to move it to. */
            to: string;
            /** @description What caused it; the first cause the table allows unless given. */
            trigger?: string | null;
        };
        /** @description The state on all axes. */
        NormalizedState: {
            /** @description Did it produce what it promised? */
            delivery?: string | null;
            /** @description When it was judged. */
            evaluated_at: string;
            /** @description Is the runtime okay? */
            health?: string | null;
            /** @description The recorded state. */
            lifecycle?: string | null;
            /** @description How it ended. */
            outcome?: string | null;
            phase?: components["schemas"]["Phase"] | null;
            /** @description The policy that severity follows. */
            policy_version: string;
            /** @description Why, the recorded reasons first. */
            reasons: components["schemas"]["Reason"][];
            /** @description How urgent it is. */
            severity: string;
            /** @description Who judged it. */
            source: string;
            /** @description How its badge is coloured. */
            tone: string;
        };
        /** @description Something to write down. */
        Note: {
            text: string;
        };
        /** @description A body without anything in it. */
        Nothing: Record<string, never>;
        /** @description A view, and the newest record that is in it. */
        OneView: ({
            /** @description What it promised and delivered. */
            artifacts: components["schemas"]["Artifacts"];
            /**
             * @description The state as people read it.
             * @example Failed · Infra OK · Trace present
             */
            chain: string;
            /** @description When it was recorded. */
            created_at?: string | null;
            /** @description One word for a pill that stands alone. */
            effective: string;
            /** @description When it ended. */
            ended_at?: string | null;
            /** @description When it entered the state it is in. */
            entered_at?: string | null;
            /** @description How its process ended. */
            exit: components["schemas"]["Exit"];
            /** @description Everything else that was recorded. */
            facts: {
                [key: string]: unknown;
            };
            /** @description Where it runs. */
            host?: unknown;
            /**
             * @description Its id: the prefix of its kind and 26 characters.
             * @example ses_01k7c3h2f4x8w6t5r3q1n0m9bz
             */
            id: string;
            /** @description Its kind. */
            kind: string;
            /** @description What somebody sorted it by. */
            labels: {
                [key: string]: unknown;
            };
            /** @description When it was last heard of. */
            last_activity_at?: string | null;
            /** @description The entity it belongs to. */
            parent?: string | null;
            /** @description Its process. */
            pid?: unknown;
            /** @description When it began. */
            started_at?: string | null;
            /** @description Its state on all axes. */
            state: components["schemas"]["NormalizedState"];
            /** @description Its bound, and how long it ran. */
            timeout: components["schemas"]["Timeout"];
            /** @description What it is called. */
            title?: string | null;
            /**
             * Format: int64
             * @description How many records it has.
             */
            version: number;
        } & Record<string, never>) & {
            /**
             * Format: int64
             * @description Everything up to this record is in it.
             */
            head: number;
        };
        /** @description A part of the output. */
        OutputPage: {
            /**
             * Format: int64
             * @description Where the output ends so far.
             */
            end: number;
            /**
             * Format: int64
             * @description Where it begins.
             */
            from: number;
            /**
             * Format: int64
             * @description Where the next part begins.
             */
            next: number;
            pieces: components["schemas"]["OutputPiece"][];
        };
        /** @description One piece: text, or how many bytes are missing. */
        OutputPiece: {
            at: string;
            /** Format: int64 */
            bytes: number;
            /** Format: int64 */
            offset: number;
            stream: string;
            text: string;
        } | {
            /** Format: int64 */
            dropped: number;
        };
        /** @description What a run is doing while it has not ended. */
        Phase: {
            /** @description Who asked for a stop, or what holds the process. */
            by?: string | null;
            /** @description More about it, in words. */
            detail?: string | null;
            /**
             * @description What it is doing.
             * @example stopping
             */
            name: string;
            /** @description Since when, where that is known. */
            since?: string | null;
        };
        /** @description Why a request was not answered as it wished (RFC 9457). */
        Problem: {
            /** @description What is wrong. */
            detail: string;
            /** @description What to do next. */
            help: string;
            refused?: components["schemas"]["Refusal"] | null;
            /**
             * Format: int32
             * @description The status of the answer.
             */
            status: number;
            /** @description The sort of problem in words. */
            title: string;
            /** @description A URI that names the sort of problem. */
            type: string;
        };
        /** @description The processes of the live runs of this host. */
        Processes: {
            /**
             * Format: int64
             * @description There was no descriptor for them, so they are looked at now and then.
             */
            unwatched: number;
            /**
             * Format: int64
             * @description The kernel tells their end at once.
             */
            watched: number;
        };
        /** @description How far the work is. */
        ProgressReport: {
            /**
             * Format: int64
             * @description Only if the claim is still this one.
             */
            epoch?: number | null;
            /** @description How far it is, in a sentence. */
            text: string;
        };
        /** @description A question. */
        Question: {
            /** @description The answer, or the default that took effect. */
            answer?: string | null;
            /** @description Who answered. */
            answered_by?: string | null;
            /** @description Those who may answer; everybody who may decide if nobody is listed. */
            answerers: string[];
            /** @description When it was asked. */
            asked_at?: string | null;
            /** @description Who asked. */
            asked_by?: string | null;
            /** @description Why, in the words of who answered. */
            because?: string | null;
            /** @description What will happen, or what to look at. */
            context?: string | null;
            /** @description What happens if nobody answers in time: hold, deny or an option. */
            default: string;
            /** @description When it was answered, expired or was withdrawn. */
            ended_at?: string | null;
            /** @description When the asker stops waiting. */
            expires_at?: string | null;
            /** @description Its ID. */
            id: string;
            /** @description The answers to choose from; any text if there are none. */
            options: string[];
            /** @description The standing rule that answered. */
            rule?: string | null;
            /** @description The standing rules that can be made of an answer. */
            scopes: components["schemas"]["RuleScope"][];
            /** @description What it is about, which says what an answer does: plan, review, dependency, permission, budget or ask. */
            source?: string | null;
            /** @description asked, answered, expired or withdrawn. */
            state: string;
            subject?: components["schemas"]["Subject"] | null;
            /** @description The question. */
            text: string;
        };
        /** @description Which runs to end. */
        ReapRequest: {
            /** @description Say what would be ended, and end nothing. */
            dry_run?: boolean;
            /**
             * Format: double
             * @description Only what was not heard of for longer than this many seconds.
             */
            older_than_s?: number;
        };
        /** @description Why, with what shows it. */
        Reason: {
            /** @description How sure it is. */
            claim_status: string;
            /**
             * @description The registered code.
             * @example run.failed.exit_nonzero
             */
            code: string;
            /**
             * Format: double
             * @description From 0 to 1.
             */
            confidence: number;
            /** @description Where it can be seen. */
            evidence: unknown[];
            /** @description What happened, in words. */
            message: string;
        };
        /** @description How often a reason led to an end that was no success. */
        ReasonCount: {
            /** @description The code of the reason. */
            code: string;
            /**
             * Format: int64
             * @description How often.
             */
            count: number;
        };
        /** @description One record of the log. */
        Record: {
            /** @description Who asked for it. */
            actor: components["schemas"]["ActorRef"];
            /** @description When it was decided. */
            at: string;
            /** @description What led to it. */
            cause?: string | null;
            /** @description Who may read it: replay or audit. */
            channel: string;
            /** @description The facts that were recorded with it. */
            data: {
                [key: string]: unknown;
            };
            /** @description The entity. */
            entity: components["schemas"]["EntityRef"];
            /** @description The state before. */
            from?: string | null;
            group?: components["schemas"]["GroupMember"] | null;
            /** @description The guards that held, where the row has any. */
            guards?: string[] | null;
            /** @description The hash over the chain of its entity. */
            hash: string;
            /** @description Its idempotency key. */
            key?: string | null;
            /** @description Why. */
            reasons: components["schemas"]["Reason"][];
            /**
             * Format: int64
             * @description Its number in the log.
             */
            seq: number;
            /** @description The state after. */
            to: string;
            /** @description What caused a transition. */
            trigger?: string | null;
            /** @description What sort of event it is. */
            type: string;
            /**
             * Format: int64
             * @description How many records the entity has with it.
             */
            version: number;
        };
        /** @description A page of records. */
        RecordPage: {
            items: components["schemas"]["Record"][];
            /**
             * Format: int64
             * @description Where the next page begins; nothing if this is the last one.
             */
            next_after?: number | null;
        };
        /** @description A record as the answer to a command. */
        Recorded: {
            record: components["schemas"]["Record"];
        };
        /** @description The kernel's no. */
        Refusal: {
            /** @description The states that are allowed from here. */
            allowed: string[];
            /** @description Why, as a code. */
            code: string;
            /** @description The entity. */
            entity: components["schemas"]["EntityRef"];
            /** @description The state it is in. */
            from?: string | null;
            /** @description The guard that stands in the way, where one does. */
            guard?: string | null;
            /** @description What to do next. */
            help: string;
            /** @description Why, in words. */
            message: string;
            /** @description The state that was asked for. */
            to?: string | null;
        };
        /** @description A person rejects a plan or a result. */
        RejectionRequest: {
            /** @description Is the result to be done again? Otherwise the task has failed. */
            again?: boolean;
            /** @description Why, in a sentence; the next attempt is told. */
            because: string;
            /** @description The other tasks of its plan too? */
            whole_plan?: boolean;
        };
        /** @description The worker gives the task back. */
        ReleaseRequest: {
            /** @description Why, in a sentence. */
            because: string;
            /**
             * Format: int64
             * @description Only if the claim is still this one.
             */
            epoch?: number | null;
            /** @description From when on it may be claimed again: an RFC 3339 time; at once unless given. */
            not_before?: string | null;
        };
        /** @description How it went. */
        Report: {
            /** @description Span by span, the oldest first. */
            buckets: components["schemas"]["BucketReport"][];
            /** @description The reasons of ends that were no success, the most frequent first. */
            reasons: components["schemas"]["ReasonCount"][];
            /** @description How long entities stay in each state. */
            time_in_state: components["schemas"]["StateTime"][];
        };
        /** @description A person lets a failed task be tried once more. */
        RetryRequest: {
            /** @description Why, in a sentence. */
            because?: string | null;
            /** @description May it take twice as long as the last attempt? At most four times the default of its scope. */
            more_time?: boolean;
        };
        /** @description A standing rule. */
        Rule: {
            /** @description How it answers. */
            answer: string;
            /** @description What it covers. */
            covers: string;
            /** @description Its ID. */
            id: string;
            /** @description When. */
            made_at?: string | null;
            /** @description Who made it. */
            made_by?: string | null;
            /** @description The question whose answer it was made of. */
            question?: string | null;
            /** @description in_force or revoked. */
            state: string;
        };
        /** @description How much a standing rule would cover. */
        RuleScope: {
            /** @description What it covers. */
            covers: string;
            /** @description Its name, for `--always`. */
            scope: string;
        };
        /** @description Standing rules, the oldest first. */
        Rules: {
            /** @description The rules. */
            items: components["schemas"]["Rule"][];
        };
        /** @description A run that is asked for. */
        RunRequest: {
            /** @description Whose stream it writes: auto, none, or the name of an agent program; auto unless given. */
            adapter?: string | null;
            /** @description Whether setuid programs work inside of it. */
            allow_privileges?: boolean;
            /** @description The command and its arguments; no shell reads them. */
            argv: string[];
            /** @description Where it has to produce it; `cwd` unless given. */
            artifacts?: string | null;
            /** @description What it has to produce: a contract. The path of a file with one is taken, too. */
            contract?: Record<string, never> | null;
            /**
             * Format: int32
             * @description How much of a core it may use, in percent.
             */
            cpu_percent?: number | null;
            /** @description Where it runs: an absolute path. */
            cwd: string;
            /**
             * @description Variables of its environment, beside those that it inherits. Their values are in no record and are not kept: a retry takes
             *     them from where it is called, for the server from `serve --env`.
             */
            env?: {
                [key: string]: string;
            };
            /** @description Files it has to produce; with :optional behind one, the run is only partial without it. */
            expect?: string[];
            /**
             * Format: double
             * @description When it is ended if nothing is heard from it after its start, in seconds.
             */
            first_output_timeout_s?: number | null;
            /**
             * Format: double
             * @description How long it may take to go when it is told to, before it is killed, in seconds; 10 unless given.
             */
            grace_s?: number | null;
            /**
             * Format: double
             * @description When it is ended if nothing is heard from it, in seconds.
             */
            idle_timeout_s?: number | null;
            /**
             * Format: int64
             * @description How much of its output is kept; 64 MiB unless given.
             */
            keep_bytes?: number | null;
            /** @description What somebody sorts it by. */
            labels?: {
                [key: string]: string;
            };
            /**
             * Format: int64
             * @description How much memory it may use.
             */
            memory_bytes?: number | null;
            /** @description What becomes of its tree when a run that it started fails: contain, siblings or session; contain unless given. */
            on_child_failure?: string | null;
            /** @description The run it belongs to. */
            parent?: string | null;
            /**
             * Format: int64
             * @description How many processes it may have.
             */
            processes?: number | null;
            sandbox?: components["schemas"]["SandboxRequest"] | null;
            /**
             * Format: double
             * @description When it is ended, in seconds.
             */
            timeout_s?: number | null;
            /** @description What it is called; its command line unless given. */
            title?: string | null;
            /**
             * Format: double
             * @description When it is stopped if one of its tool calls goes on, in seconds.
             */
            tool_timeout_s?: number | null;
            /**
             * Format: double
             * @description When it is stopped if it waits for a person, in seconds.
             */
            waiting_timeout_s?: number | null;
        };
        /** @description How the runs are. */
        Runs: {
            /** Format: int64 */
            dead: number;
            /** Format: int64 */
            live: number;
            /** Format: int64 */
            stalled: number;
            /** Format: int64 */
            waiting: number;
        };
        /** @description The sandbox of a run. */
        SandboxRequest: {
            /** @description Start it even if this host cannot give every wall. */
            best_effort?: boolean;
            /** @description What it reaches, as `--sandbox-network` takes it; what the profile says unless given. */
            network?: string | null;
            /** @description read-only, workspace, open, or a profile of the settings. */
            profile: string;
            /** @description What it may write beside what the profile says. */
            write?: string[];
        };
        /** @description One service of a store. */
        ServiceShown: {
            /** @description What it does. */
            does: string;
            /** @description What went wrong in its last step. */
            error?: string | null;
            /** @description The process that runs it. */
            holder?: string | null;
            /**
             * Format: int64
             * @description How many records there are behind that one.
             */
            lag?: number | null;
            /** @description When its last step was recorded. */
            last_step_at?: string | null;
            /** @description Its name. */
            name: string;
            /**
             * Format: int64
             * @description The last record that it has dealt with; null if it never ran, or does not follow the log.
             */
            position?: number | null;
            /** @description How it stands: working, failing, or unattended if no process runs it. */
            standing: string;
        };
        /** @description The services of a store. */
        ServicesAnswer: {
            /**
             * Format: int64
             * @description The newest record of the log.
             */
            head: number;
            /** @description The services, by name. */
            items: components["schemas"]["ServiceShown"][];
        };
        /** @description For how long. */
        Snooze: {
            /**
             * Format: double
             * @description Seconds; a day unless given.
             */
            for_s?: number | null;
        };
        /** @description The task is too large: it waits for its parts. */
        SplitRequest: {
            /**
             * Format: int64
             * @description Only if the claim is still this one.
             */
            epoch?: number | null;
            /** @description The parts. They inherit repository, base, role and delivery unless they say otherwise. */
            parts: {
                /** @description The tasks it depends on: IDs; with :ended behind one, also if that task fails or is cancelled. */
                after?: string[];
                /** @description Must a person approve the result before it is merged? */
                approval?: boolean;
                /** @description The branch that it begins from and is merged into; the branch that the repository is on unless given. */
                base?: string | null;
                /** @description Files that must contain a text: PATH=TEXT. */
                contains?: string[];
                /** @description The artifact contract that must hold: a file in the repository. */
                contract?: string | null;
                /** @description How a verified result is delivered: merge, or branch; merge unless given. */
                deliver?: string | null;
                /** @description Paths or globs of files that must be there. */
                expect?: string[];
                /** @description Must something have changed? */
                expect_diff?: boolean;
                /** @description Paths in the repository that no other task may work on at the same time; a directory stands for everything below it. */
                files?: string[];
                /**
                 * @description What else it depends on: person:TEXT, time:RFC3339, command:COMMAND (until it succeeds) or merged:COMMAND (which succeeds once
                 *     a pull request is merged).
                 */
                gates?: string[];
                /** @description What somebody sorts it by. */
                labels?: {
                    [key: string]: string;
                };
                /**
                 * Format: int64
                 * @description How often it is tried again after a failure; 3 unless given.
                 */
                max_retries?: number | null;
                /** @description What becomes of its parts when one of them fails: contain, siblings or session; contain unless given. */
                on_child_failure?: string | null;
                /** @description The task it is part of. */
                parent?: string | null;
                /**
                 * Format: int64
                 * @description How urgent it is: 1 comes first; 2 unless given.
                 */
                priority?: number | null;
                /** @description What its agent is told to do; the title unless given. */
                prompt?: string | null;
                /** @description The git repository it works on: an absolute path. */
                repo?: string | null;
                /** @description A command that reviews the work, after all other checks; a shell reads it. It fails to reject. */
                review?: string | null;
                /** @description Who it is for: workers with this role, and workers without one. */
                role?: string | null;
                /** @description JSON files that must fit a JSON schema: PATH=SCHEMA, both in the repository. */
                schema?: string[];
                /** @description How much work it is: small, medium, large or xl. It sets the time that an attempt may take; medium unless given. */
                scope?: string | null;
                /**
                 * Format: double
                 * @description How long one attempt may take, in seconds; what its scope says unless given.
                 */
                timeout_s?: number | null;
                /** @description What it is called. */
                title: string;
                /** @description Commands that must succeed in its worktree before it is merged; a shell reads them. */
                verify?: string[];
            }[];
        };
        /** @description The work has begun. */
        StartReport: {
            /**
             * Format: int64
             * @description Only if the claim is still this one.
             */
            epoch?: number | null;
            /** @description How the work begins, in a few words. */
            status?: string | null;
        };
        /** @description The id of a run that was started. */
        Started: {
            id: string;
        };
        /** @description How many stand in a state. */
        StateCount: {
            /** Format: int64 */
            count: number;
            state: string;
        };
        /** @description How long entities stay in a state. */
        StateTime: {
            /**
             * Format: double
             * @description The median, in seconds.
             */
            p50_s?: number | null;
            /**
             * Format: double
             * @description What 95 of 100 stay below, in seconds.
             */
            p95_s?: number | null;
            /** @description The state. */
            state: string;
        };
        /** @description A wish that a run stops. */
        Stop: {
            /** @description Do not give it time to go by itself. */
            now?: boolean;
            /** @description Why, in words. */
            reason?: string | null;
        };
        /** @description How many streams are open. */
        Streams: {
            free: number;
        };
        /** @description What an item is about. */
        Subject: {
            /** @description Its id. */
            id: string;
            /** @description Its kind. */
            kind: string;
            /** @description What it is called. */
            title?: string | null;
        };
        /** @description A task as the board shows it. */
        TaskCard: {
            /**
             * Format: double
             * @description For how long it has been in its state, in seconds.
             */
            age_s?: number | null;
            /** @description When it entered its state. */
            entered_at?: string | null;
            /** @description The worker that holds it. */
            holder?: string | null;
            /** @description Its ID. */
            id: string;
            /** @description What somebody sorts it by. */
            labels: {
                [key: string]: string;
            };
            /** @description Who or what moves it on, in one sentence. */
            next_move: string;
            /**
             * Format: int64
             * @description How urgent it is: 1 comes first.
             */
            priority: number;
            /** @description What its worker said last of how far it is. */
            progress?: string | null;
            /** @description The repository it works on. */
            repo?: string | null;
            /** @description Who it is for. */
            role?: string | null;
            /** @description How much work it is. */
            scope: string;
            /** @description Where it stands. */
            state: string;
            /** @description What it is called. */
            title?: string | null;
            /** @description What it waits for, one sentence each. */
            waits_for: string[];
        };
        /** @description Changes to a task that nobody has claimed. What is left out stays as it is. */
        TaskChange: {
            /**
             * Format: int64
             * @description How often it is tried again.
             */
            max_retries?: number | null;
            /**
             * Format: int64
             * @description How urgent it is.
             */
            priority?: number | null;
            /** @description What its agent is told to do. */
            prompt?: string | null;
            /** @description Who it is for. */
            role?: string | null;
            /** @description How much work it is. */
            scope?: string | null;
            /**
             * Format: double
             * @description How long one attempt may take, in seconds.
             */
            timeout_s?: number | null;
            /** @description What it is called. */
            title?: string | null;
        };
        /** @description One claim of a task. */
        TaskClaim: {
            /** @description When. */
            at: string;
            /**
             * Format: int64
             * @description Which claim of the task it was.
             */
            epoch?: number | null;
            /** @description The worker. */
            holder?: string | null;
        };
        /** @description What a task changed: its merge, or its branch while it is not merged. */
        TaskDiff: {
            /** @description The commit that it is compared with. */
            base: string;
            /** @description The files that differ, in the order of git. */
            files: components["schemas"]["FileDiff"][];
            /**
             * Format: int64
             * @description How many files differ, listed or not.
             */
            files_total: number;
            /** @description Was something left out: a file, or the end of a patch? */
            is_cut: boolean;
            /** @description Was it merged? Otherwise it is the work so far. */
            is_merged: boolean;
            /** @description The task. */
            task: string;
            /** @description The merge of the task, or the tip of its branch. */
            tip: string;
        };
        /** @description What a task was merged as. */
        TaskMerge: {
            /** @description The branch that holds or held the work. */
            branch?: string | null;
            /** @description The commit that brought it into its base. */
            commit?: string | null;
        };
        /** @description A task that is asked for. */
        TaskRequest: {
            /** @description The tasks it depends on: IDs; with :ended behind one, also if that task fails or is cancelled. */
            after?: string[];
            /** @description Must a person approve the result before it is merged? */
            approval?: boolean;
            /** @description The branch that it begins from and is merged into; the branch that the repository is on unless given. */
            base?: string | null;
            /** @description Files that must contain a text: PATH=TEXT. */
            contains?: string[];
            /** @description The artifact contract that must hold: a file in the repository. */
            contract?: string | null;
            /** @description How a verified result is delivered: merge, or branch; merge unless given. */
            deliver?: string | null;
            /** @description Paths or globs of files that must be there. */
            expect?: string[];
            /** @description Must something have changed? */
            expect_diff?: boolean;
            /** @description Paths in the repository that no other task may work on at the same time; a directory stands for everything below it. */
            files?: string[];
            /**
             * @description What else it depends on: person:TEXT, time:RFC3339, command:COMMAND (until it succeeds) or merged:COMMAND (which succeeds once
             *     a pull request is merged).
             */
            gates?: string[];
            /** @description What somebody sorts it by. */
            labels?: {
                [key: string]: string;
            };
            /**
             * Format: int64
             * @description How often it is tried again after a failure; 3 unless given.
             */
            max_retries?: number | null;
            /** @description What becomes of its parts when one of them fails: contain, siblings or session; contain unless given. */
            on_child_failure?: string | null;
            /** @description The task it is part of. */
            parent?: string | null;
            /**
             * Format: int64
             * @description How urgent it is: 1 comes first; 2 unless given.
             */
            priority?: number | null;
            /** @description What its agent is told to do; the title unless given. */
            prompt?: string | null;
            /** @description The git repository it works on: an absolute path. */
            repo?: string | null;
            /** @description A command that reviews the work, after all other checks; a shell reads it. It fails to reject. */
            review?: string | null;
            /** @description Who it is for: workers with this role, and workers without one. */
            role?: string | null;
            /** @description JSON files that must fit a JSON schema: PATH=SCHEMA, both in the repository. */
            schema?: string[];
            /** @description How much work it is: small, medium, large or xl. It sets the time that an attempt may take; medium unless given. */
            scope?: string | null;
            /**
             * Format: double
             * @description How long one attempt may take, in seconds; what its scope says unless given.
             */
            timeout_s?: number | null;
            /** @description What it is called. */
            title: string;
            /** @description Commands that must succeed in its worktree before it is merged; a shell reads them. */
            verify?: string[];
        };
        /** @description One run for a task. */
        TaskRun: {
            /** @description When it came to be. */
            created_at?: string | null;
            /** @description Its ID. */
            id: string;
            /** @description Why it is where it is. */
            reason?: string | null;
            /** @description Where it stands. */
            state?: string | null;
            /** @description What it is called. */
            title?: string | null;
        };
        /** @description A task as it stands, and what it has been through. */
        TaskStory: ({
            /** @description What it promised and delivered. */
            artifacts: components["schemas"]["Artifacts"];
            /**
             * @description The state as people read it.
             * @example Failed · Infra OK · Trace present
             */
            chain: string;
            /** @description When it was recorded. */
            created_at?: string | null;
            /** @description One word for a pill that stands alone. */
            effective: string;
            /** @description When it ended. */
            ended_at?: string | null;
            /** @description When it entered the state it is in. */
            entered_at?: string | null;
            /** @description How its process ended. */
            exit: components["schemas"]["Exit"];
            /** @description Everything else that was recorded. */
            facts: {
                [key: string]: unknown;
            };
            /** @description Where it runs. */
            host?: unknown;
            /**
             * @description Its id: the prefix of its kind and 26 characters.
             * @example ses_01k7c3h2f4x8w6t5r3q1n0m9bz
             */
            id: string;
            /** @description Its kind. */
            kind: string;
            /** @description What somebody sorted it by. */
            labels: {
                [key: string]: unknown;
            };
            /** @description When it was last heard of. */
            last_activity_at?: string | null;
            /** @description The entity it belongs to. */
            parent?: string | null;
            /** @description Its process. */
            pid?: unknown;
            /** @description When it began. */
            started_at?: string | null;
            /** @description Its state on all axes. */
            state: components["schemas"]["NormalizedState"];
            /** @description Its bound, and how long it ran. */
            timeout: components["schemas"]["Timeout"];
            /** @description What it is called. */
            title?: string | null;
            /**
             * Format: int64
             * @description How many records it has.
             */
            version: number;
        } & Record<string, never>) & {
            /** @description Every claim, the oldest first. */
            claims: components["schemas"]["TaskClaim"][];
            /** @description What it was merged as. */
            merge: components["schemas"]["TaskMerge"];
            /** @description Who or what moves it on, in one sentence. */
            next_move: string;
            /** @description Every question about it or about one of its runs, the oldest first. */
            questions: components["schemas"]["Question"][];
            /** @description Every run of an agent or of a check, the oldest first. */
            runs: components["schemas"]["TaskRun"][];
            /** @description The tasks it was split into. */
            subtasks: string[];
            /** @description Every turn, the oldest first. */
            turns: components["schemas"]["TaskTurn"][];
            /** @description What the newest verification found, one object for each check. */
            verdicts: Record<string, never>[];
        };
        /** @description One turn of a task. */
        TaskTurn: {
            /** @description How long its attempt may take: `timeout_s`, `rule` (explicit, adaptive or default), `p95_s` and `sample_count`. */
            bound?: Record<string, never> | null;
            /** @description When it began. */
            created_at?: string | null;
            /** @description The files as they were when it ended. */
            end_ref?: string | null;
            /** @description When it ended. */
            ended_at?: string | null;
            /** @description Its ID. */
            id: string;
            /** @description Why it is where it is. */
            reason?: string | null;
            /** @description The run of its agent. */
            run?: string | null;
            /** @description The turns of earlier attempts that the bound follows from, the newest first. */
            samples: string[];
            /** @description The files as they were when it began. */
            start_ref?: string | null;
            /** @description Where it stands. */
            state?: string | null;
            /** @description The worker that handled the task in it. */
            worker?: string | null;
        };
        /** @description Its bound, and how long it ran. */
        Timeout: {
            /**
             * Format: double
             * @description The bound, in seconds.
             */
            configured_s?: number | null;
            /**
             * Format: double
             * @description How long it ran, in seconds.
             */
            elapsed_s?: number | null;
        };
        /** @description How many bytes the store had, and has. */
        VacuumAnswer: {
            /** Format: int64 */
            bytes_after: number;
            /** Format: int64 */
            bytes_before: number;
        };
        /** @description An entity as it stands, judged at a moment. A kind adds its own fields. */
        View: {
            /** @description What it promised and delivered. */
            artifacts: components["schemas"]["Artifacts"];
            /**
             * @description The state as people read it.
             * @example Failed · Infra OK · Trace present
             */
            chain: string;
            /** @description When it was recorded. */
            created_at?: string | null;
            /** @description One word for a pill that stands alone. */
            effective: string;
            /** @description When it ended. */
            ended_at?: string | null;
            /** @description When it entered the state it is in. */
            entered_at?: string | null;
            /** @description How its process ended. */
            exit: components["schemas"]["Exit"];
            /** @description Everything else that was recorded. */
            facts: {
                [key: string]: unknown;
            };
            /** @description Where it runs. */
            host?: unknown;
            /**
             * @description Its id: the prefix of its kind and 26 characters.
             * @example ses_01k7c3h2f4x8w6t5r3q1n0m9bz
             */
            id: string;
            /** @description Its kind. */
            kind: string;
            /** @description What somebody sorted it by. */
            labels: {
                [key: string]: unknown;
            };
            /** @description When it was last heard of. */
            last_activity_at?: string | null;
            /** @description The entity it belongs to. */
            parent?: string | null;
            /** @description Its process. */
            pid?: unknown;
            /** @description When it began. */
            started_at?: string | null;
            /** @description Its state on all axes. */
            state: components["schemas"]["NormalizedState"];
            /** @description Its bound, and how long it ran. */
            timeout: components["schemas"]["Timeout"];
            /** @description What it is called. */
            title?: string | null;
            /**
             * Format: int64
             * @description How many records it has.
             */
            version: number;
        };
        /** @description One worker. */
        Worker: {
            /** @description The person who works with it by hand. */
            by?: string | null;
            /** @description The host of its process. */
            host?: string | null;
            /** @description Its ID. */
            id: string;
            /** @description One character that stands for the visual state. */
            indicator: string;
            /** @description The visual state as people read it. */
            label: string;
            /** @description When its lease was renewed last, or else when something was recorded of it. */
            last_heard_at?: string | null;
            /**
             * Format: int32
             * @description The pid of its process there; null if somebody works by hand.
             */
            pid?: number | null;
            /** @description The agent profile that it uses. */
            profile?: string | null;
            /** @description The role whose tasks it takes. */
            role?: string | null;
            /** @description Since when it is in the recorded state. */
            since?: string | null;
            /** @description The state that is recorded: starting, working, idle or dead. */
            state?: string | null;
            /** @description The task that it has, or that it did and that is being verified or merged. */
            task?: string | null;
            /** @description What that task is called. */
            task_title?: string | null;
            /** @description What it is called. */
            title?: string | null;
            /** @description The colour token of the visual state. */
            token: string;
            /** @description The turn in which it handles the task. */
            turn?: string | null;
            /** @description Where that turn stands. */
            turn_state?: string | null;
            /** @description How it is shown: spawning, running, stalled, merging, dead, idle or unknown. */
            visual: string;
            /** @description Why it is shown so, in one sentence. */
            why: string;
        };
        /** @description The workers that are there. */
        Workers: {
            /**
             * Format: int64
             * @description Everything up to this record is in the answer.
             */
            head: number;
            /** @description Those that have not ended, the oldest first; then those that ended in the last day, if they were asked for, the newest first. */
            items: components["schemas"]["Worker"][];
        };
        /** @description Where the log ends, and how far the feed is. */
        WriterAnswer: {
            /** Format: int64 */
            feed_head: number;
            /** Format: int64 */
            head: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    checkpoint: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckpointAnswer"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    export: {
        parameters: {
            query?: {
                /** @description Only the records after this one. */
                since?: number;
                /** @description Only the records up to and with this one. */
                until?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/jsonl": string;
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    import_legacy: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/jsonl": string;
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    info: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    reap: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReapRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    vacuum: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VacuumAnswer"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    verify: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    attention: {
        parameters: {
            query?: {
                /** @description How many: 1 to 500, 100 unless given. */
                limit?: number;
                /** @description Those that were put off or dismissed too. */
                set_aside?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Attention"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    task_board: {
        parameters: {
            query?: {
                /** @description Only these columns, with commas between them. */
                state?: string;
                /** @description Only tasks for this role. */
                role?: string;
                /** @description NAME=VALUE; may be given several times. */
                label?: string;
                /** @description Only tasks in this repository. */
                repo?: string;
                /** @description How many cards of each column: 1 to 500, 100 unless given. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Board"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    counts: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CountsAnswer"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    list: {
        parameters: {
            query?: {
                /** @description Only those of a kind. */
                kind?: string;
                /** @description Only those in one of these states, with commas between them. */
                state?: string;
                /** @description Only those with one of these healths. */
                health?: string;
                /** @description Only those of one of these severities. */
                severity?: string;
                /** @description NAME=VALUE; may be given several times. */
                label?: string;
                /** @description Only those of a project. */
                project?: string;
                /** @description Only those that belong to this one: a whole id. */
                parent?: string;
                /** @description Only those whose title, project, status or id says this. */
                q?: string;
                /** @description Those that ended too. */
                ended?: boolean;
                /** @description severity, newest or oldest. */
                sort?: string;
                /** @description How many: 1 to 500, 100 unless given. */
                limit?: number;
                /** @description next_cursor of the page before. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EntityPage"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    one: {
        parameters: {
            query?: {
                /** @description As it was then: an RFC 3339 time. */
                at?: string;
                /** @description As it was after this record of the log. */
                as_of?: number;
            };
            header?: never;
            path: {
                /** @description Its whole id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OneView"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    abort: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Abort"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Aborted"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    overview: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Artifacts"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    file: {
        parameters: {
            query?: never;
            header?: {
                /** @description bytes=FIRST-LAST */
                Range?: string | null;
            };
            path: {
                id: string;
                /** @description The path beneath the artifact directory. */
                path: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": number[];
                };
            };
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": number[];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    children: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its whole id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Children"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    dismiss: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Recorded"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    of_entity: {
        parameters: {
            query?: {
                /** @description After this record; from its first one unless given. */
                since?: number;
            };
            header?: {
                /** @description The last record that was seen; wins over since. */
                "Last-Event-ID"?: number | null;
            };
            path: {
                /** @description Its whole id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    heartbeat: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Heartbeat"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Recorded"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    note: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Note"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Recorded"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pieces: {
        parameters: {
            query?: {
                /** @description The offset of the first byte; negative counts from the end. */
                from?: number;
                /** @description How many bytes: 1 to 1048576, 65536 unless given. */
                limit?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OutputPage"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    raw: {
        parameters: {
            query?: never;
            header?: {
                /** @description bytes=FIRST-LAST */
                Range?: string | null;
            };
            path: {
                id: string;
                /** @description stdout or stderr. */
                stream: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": number[];
                };
            };
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": number[];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    records: {
        parameters: {
            query?: {
                /** @description Only those after this record. */
                after?: number;
                /** @description How many: 1 to 500, 100 unless given. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description Its whole id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordPage"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    retry: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Started"];
                };
            };
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Started"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    snooze: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Snooze"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Recorded"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    stop: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Stop"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Recorded"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    transition: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Move"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Recorded"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    undo: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Nothing"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Recorded"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    all: {
        parameters: {
            query?: {
                /** @description After this record; the newest unless given. */
                since?: number;
                /** @description Only those of a kind. */
                kind?: string;
                /** @description Only those of one entity: a whole id. */
                entity?: string;
                /** @description Only those of a channel: replay or audit. */
                channel?: string;
            };
            header?: {
                /** @description The last record that was seen; wins over since. */
                "Last-Event-ID"?: number | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HealthAnswer"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    machines: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    inbox: {
        parameters: {
            query?: {
                /** @description The newest N of all questions, ended ones too: 1 to 500. */
                all?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Inbox"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    ask: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AskRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Question"];
                };
            };
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Question"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    question: {
        parameters: {
            query?: {
                /** @description Wait up to this many seconds for an answer: 1 to 25. */
                wait_s?: number;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Question"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    answer_question: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AnswerRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Question"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    withdraw_question: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Question"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    reasons: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rules: {
        parameters: {
            query?: {
                /** @description true: those that were revoked too. */
                all?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Rules"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revoke_rule: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DecisionRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Rule"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    start: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunRequest"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Started"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    services: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ServicesAnswer"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    add_task: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TaskRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["View"];
                };
            };
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["View"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    claim_next_task: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ClaimRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Hold"];
                };
            };
            /** @description No task can be claimed. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    edit_task: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TaskChange"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["View"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    approve_task: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ApprovalRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["View"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    block_task: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BlockRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["View"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancel_task: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DecisionRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["View"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    claim_task: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ClaimOneRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Hold"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    diff_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its whole id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskDiff"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    done_task: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DoneReport"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["View"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    fail_task: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FailReport"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["View"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    heartbeat_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LeaseRenewal"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Hold"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    progress_task: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ProgressReport"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["View"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    reject_task: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RejectionRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["View"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    release_task: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReleaseRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["View"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    retry_task: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RetryRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["View"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    split_task: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SplitRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["View"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    start_task: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartReport"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["View"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    story_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its whole id. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskStory"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    unblock_task: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DecisionRequest"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["View"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    trends: {
        parameters: {
            query?: {
                /** @description How far back: 1 to 31, 7 unless given. */
                days?: number;
                /** @description hour or day; day unless given. */
                bucket?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Report"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    vocabulary: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    task_workers: {
        parameters: {
            query?: {
                /** @description Those that ended in the last day too. */
                all?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workers"];
                };
            };
            /** @description Why the request was not answered as it wished. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
